/**
 * Traces of a secret in what programs leave behind: handed a raw key and bytes, says whether any
 * part of the key stands there, in whatever form programs are wont to write it.
 */

/** Longer than what a key is displayed by, so that this may stand where it is meant to. */
const DISPLAYED = 8;
const PIECE = 12;

/** @returns a function that names the form in which bytes hold the key; undefined: they do not */
export function makeTraceFinder(key: string): (bytes: Buffer | string) => string | undefined {
  const forms = new Map<string, string>();
  for (let at = DISPLAYED; at + PIECE <= key.length; at += PIECE - 2) {
    const piece = key.slice(at, at + PIECE);
    const bytes = [...Buffer.from(piece)];
    const hex = bytes.map((byte) => byte.toString(16));
    forms.set(`plain ${at}`, piece);
    forms.set(`UTF-16 ${at}`, [...piece].join('\0'));
    forms.set(`hex ${at}`, hex.join(''));
    forms.set(`a dump ${at}`, hex.join(' '));
    forms.set(`percent-encoded ${at}`, `%${hex.join('%')}`);
    forms.set(`a list ${at}`, bytes.join(','));
    forms.set(`a spaced list ${at}`, bytes.join(', '));
  }
  // Where the text begins within a group of three bytes shows in every character.
  for (const before of ['', 'x', 'xx']) {
    const text = Buffer.from(before + key.slice(DISPLAYED)).toString('base64');
    forms.set(`Base64 ${before.length}`, text.slice(4, 24));
  }
  // Case is nothing to rely on: some of what writes headers changes it.
  const wanted = [...forms].map(([name, form]) => [name, form.toLowerCase()] as const);
  return (bytes) => {
    const text = (typeof bytes === 'string' ? bytes : bytes.toString('latin1')).toLowerCase();
    return wanted.find(([, form]) => text.includes(form))?.[0];
  };
}
