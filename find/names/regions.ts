/**
 * The names of regions: those of covers in catalogues, and the tags by which collections of files write
 * them. The parameters `region` and `prefer`, and the names of files, are read with this table.
 *
 * Sources of the tags: the naming conventions of No-Intro and Redump (names), TOSEC (ISO 3166 codes),
 * GoodTools (letters such as U, E, J), MAME (Euro, US), and the codes of ScreenScraper that ES-DE uses
 * (wor, jp, ame, cus). Where a letter means two regions, GoodTools decides. The names in other languages are those
 * of the Unicode CLDR, and what sites of these languages write.
 */
import { foldCase } from '../text/words.ts';

/**
 * For each region, the name that No-Intro and Redump use, its tags, and its names in German, Spanish, French, Italian,
 * Portuguese and Japanese.
 */
const REGIONS = `
  World: W, WOR, WW, Worldwide, Global, International, Welt, Mundo, Monde, Mondo, 世界, Mundial;
  USA: U, US, United States, United States of America, NTSC-U, NTSC-US, NTSC-U/C, North America,
    NA, Vereinigte Staaten, Estados Unidos, États-Unis, Stati Uniti, アメリカ合衆国, アメリカ, EUA, EE. UU., EEUU,
    Nordamerika, América del Norte, Amérique du Nord, Nord America, Nordamerica, América do Norte,
    米国, 北米, US-NTSC;
  Europe: E, EU, EUR, Euro, PAL, Europa, ヨーロッパ, EU-PAL, PAL-EU, 欧州;
  Japan: J, JP, JPN, JAP, JA, NTSC-J, Japón, Japon, Giappone, Japão, 日本, JP-NTSC, NTSC-JP;
  Asia: AS, ASI, NTSC-A, Asien, Asie, Ásia, アジア;
  South Korea: K, KR, KOR, Korea, Republic of Korea, NTSC-K, Südkorea, Corea del Sur,
    Corée du Sud, Corea del Sud, Coreia do Sul, 韓国, Corea, Corée, Coreia;
  China: C, CN, CHN, CHI, NTSC-C, Mainland China, Chine, Cina, 中国;
  Taiwan: TW, TWN, TAI, T, Taiwán, Taïwan, 台湾;
  Hong Kong: HK, HKG, 香港;
  Germany: G, DE, DEU, GER, Deutschland, Alemania, Allemagne, Germania, Alemanha, ドイツ;
  France: F, FR, FRA, Frankreich, Francia, França, フランス;
  Spain: S, SP, ES, ESP, SPA, Spanien, España, Espagne, Spagna, Espanha, スペイン;
  Italy: I, IT, ITA, Italien, Italia, Italie, Itália, イタリア;
  United Kingdom: UK, GB, GBR, Great Britain, England, Vereinigtes Königreich, Reino Unido,
    Royaume-Uni, Regno Unito, イギリス, Großbritannien, Inglaterra, Angleterre;
  Netherlands: H, D, NL, NLD, NED, DUT, Holland, Niederlande, Países Bajos, Pays-Bas, Paesi Bassi,
    Países Baixos, オランダ, Holanda;
  Australia: A, AU, AUS, Australien, Australie, Austrália, オーストラリア;
  New Zealand: NZ, NZL, Neuseeland, Nueva Zelanda, Nouvelle-Zélande, Nuova Zelanda, Nova Zelândia,
    ニュージーランド;
  Brazil: B, BR, BRA, Brasil, Brasilien, Brésil, Brasile, ブラジル;
  Canada: CA, CAN, Kanada, Canadá, カナダ;
  Russia: R, RU, RUS, Russian Federation, Russland, Rusia, Russie, Rússia, ロシア;
  Poland: PL, POL, Polen, Polonia, Pologne, Polônia, ポーランド;
  Czech Republic: CZ, CZE, Czechia, Tschechien, Chequia, Tchéquie, Cechia, Tchéquia, チェコ;
  Slovakia: SK, SVK, Slowakei, Eslovaquia, Slovaquie, Slovacchia, Eslováquia, スロバキア;
  Hungary: HU, HUN, Ungarn, Hungría, Hongrie, Ungheria, Hungria, ハンガリー;
  Bulgaria: BG, BGR, Bulgarien, Bulgarie, Bulgária, ブルガリア;
  Croatia: HR, HRV, Kroatien, Croacia, Croatie, Croazia, Croácia, クロアチア;
  Latvia: LV, LVA, Lettland, Letonia, Lettonie, Lettonia, Letônia, ラトビア;
  Greece: GR, GRC, Griechenland, Grecia, Grèce, Grécia, ギリシャ;
  Turkey: TR, TUR, Türkiye, Türkei, Turquía, Turquie, Turchia, Turquia, トルコ;
  Israel: IL, ISR, Israël, Israele, イスラエル;
  United Arab Emirates: AE, ARE, UAE, Vereinigte Arabische Emirate, Emiratos Árabes Unidos,
    Émirats arabes unis, Emirati Arabi Uniti, Emirados Árabes Unidos, アラブ首長国連邦;
  Middle East: MOR, MEA, Naher Osten, Oriente Medio, Moyen-Orient, Medio Oriente, Oriente Médio,
    中東;
  South Africa: ZA, ZAF, Südafrika, Sudáfrica, Afrique du Sud, Sudafrica, África do Sul, 南アフリカ;
  India: IN, IND, Indien, Inde, Índia, インド;
  Scandinavia: SCN, SCA, Nordic, Skandinavien, Escandinavia, Scandinavie, Escandinávia, 北欧;
  Sweden: SW, SE, SWE, Schweden, Suecia, Suède, Svezia, Suécia, スウェーデン;
  Denmark: DK, DNK, Dänemark, Dinamarca, Danemark, Danimarca, デンマーク;
  Finland: FN, FI, FIN, Finnland, Finlandia, Finlande, Finlândia, フィンランド;
  Norway: NO, NOR, Norwegen, Noruega, Norvège, Norvegia, ノルウェー;
  Portugal: PT, PRT, Portogallo, ポルトガル;
  Austria: AT, AUT, Österreich, Autriche, Áustria, オーストリア;
  Switzerland: CH, CHE, Schweiz, Suiza, Suisse, Svizzera, Suíça, スイス;
  Belgium: BE, BEL, Belgien, Bélgica, Belgique, Belgio, ベルギー;
  Benelux: BNL, BLX;
  Ireland: IE, IRL, Irland, Irlanda, Irlande, アイルランド;
  Latin America: LA, LAT, LATAM, AME, Lateinamerika, Latinoamérica, Amérique latine,
    America Latina, América Latina, ラテンアメリカ, 中南米;
  Hispanic: HSP;
  Argentina: AR, ARG, Argentinien, Argentine, アルゼンチン;
  Chile: CL, CHL, Chili, Cile, チリ;
  Mexico: MX, MEX, Mexiko, México, Mexique, Messico, メキシコ;
  Peru: PE, PER, Perú, Pérou, Perù, ペルー;
  Oceania: OCE, Ozeanien, Oceanía, Océanie, オセアニア;
  Unknown: UNK, UNKN
`
  .split(';')
  .map((row) => row.trim().split(': '));

/** "Japão" and, as it is typed where there is no such letter, "Japao". */
function spellings(name: string): readonly string[] {
  return [name, name.normalize('NFD').replaceAll(/(?<=\p{Script=Latin}\p{M}*)\p{M}/gu, '')];
}

const NAMES = new Map(
  REGIONS.flatMap(([name, tags]) => {
    const names = [name, ...tags.split(/,\s+/)].flatMap(spellings).map(foldCase);
    const different = [...new Set(names)];
    return different.map((one) => [one, different] as const);
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
