/**
 * The names of regions: those of covers in catalogues, and the tags by which collections of files write
 * them. The parameters `region` and `prefer`, and the names of files, are read with this table.
 *
 * Sources of the tags: the naming conventions of No-Intro and Redump (names), TOSEC (ISO 3166 codes),
 * GoodTools (letters such as U, E, J), MAME (Euro, US), and the codes of ScreenScraper that ES-DE uses
 * (wor, jp, ame, cus). Where a letter means two regions, GoodTools decides.
 */
import { foldCase } from '../text/words.ts';

/** For each region, the name that No-Intro and Redump use, then its tags. */
const REGIONS = `
  World: W, WOR, WW, Worldwide, Global, International;
  USA: U, US, United States, United States of America, NTSC-U, NTSC-US, NTSC-U/C, North America, NA;
  Europe: E, EU, EUR, Euro, PAL; Japan: J, JP, JPN, JAP, JA, NTSC-J; Asia: AS, ASI, NTSC-A;
  South Korea: K, KR, KOR, Korea, Republic of Korea, NTSC-K;
  China: C, CN, CHN, CHI, NTSC-C, Mainland China; Taiwan: TW, TWN, TAI, T; Hong Kong: HK, HKG;
  Germany: G, DE, DEU, GER; France: F, FR, FRA; Spain: S, SP, ES, ESP, SPA; Italy: I, IT, ITA;
  United Kingdom: UK, GB, GBR, Great Britain, England;
  Netherlands: H, D, NL, NLD, NED, DUT, Holland; Australia: A, AU, AUS; New Zealand: NZ, NZL;
  Brazil: B, BR, BRA, Brasil; Canada: CA, CAN; Russia: R, RU, RUS, Russian Federation;
  Poland: PL, POL; Czech Republic: CZ, CZE, Czechia; Slovakia: SK, SVK; Hungary: HU, HUN;
  Bulgaria: BG, BGR; Croatia: HR, HRV; Latvia: LV, LVA; Greece: GR, GRC; Turkey: TR, TUR, Türkiye;
  Israel: IL, ISR; United Arab Emirates: AE, ARE, UAE; Middle East: MOR, MEA;
  South Africa: ZA, ZAF; India: IN, IND; Scandinavia: SCN, SCA, Nordic; Sweden: SW, SE, SWE;
  Denmark: DK, DNK; Finland: FN, FI, FIN; Norway: NO, NOR; Portugal: PT, PRT; Austria: AT, AUT;
  Switzerland: CH, CHE; Belgium: BE, BEL; Benelux: BNL, BLX; Ireland: IE, IRL;
  Latin America: LA, LAT, LATAM, AME; Hispanic: HSP; Argentina: AR, ARG; Chile: CL, CHL;
  Mexico: MX, MEX; Peru: PE, PER; Oceania: OCE; Unknown: UNK, UNKN
`
  .split(';')
  .map((row) => row.trim().split(': '));

const NAMES = new Map(
  REGIONS.flatMap(([name, tags]) => {
    const names = [name, ...tags.split(', ')];
    return names.map((one) => [foldCase(one), names.map(foldCase)] as const);
  }),
);
const CANONICAL = new Map(REGIONS.map(([name]) => [foldCase(name), name]));

/** All names of the region that a text names, folded by `foldCase`; the most usual first. Case is ignored. */
export function namesOfRegion(text: string): readonly string[] {
  return NAMES.get(foldCase(text)) ?? [];
}

/** The usual name of the region that a text names, such as "USA" for "u"; undefined if it names none. */
export function regionOf(text: string): string | undefined {
  return CANONICAL.get(namesOfRegion(text)[0] ?? '');
}
