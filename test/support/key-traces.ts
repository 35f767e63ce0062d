/**
 * Finds traces of a raw key in bytes that a program wrote: any part of the key, in any encoding that
 * programs usually write.
 */

/** The first characters of a key are not secret: they are displayed. */
const DISPLAYED = 8;
const PIECE = 12;

/** @returns a function that names the form in which bytes contain the key; undefined if they do not */
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
  // Base64 encodes groups of three bytes, so the form depends on where the text begins in a group.
  for (const before of ['', 'x', 'xx']) {
    const text = Buffer.from(before + key.slice(DISPLAYED)).toString('base64');
    forms.set(`Base64 ${before.length}`, text.slice(4, 24));
  }
  // Case is ignored, because some programs change the case of headers.
  const wanted = [...forms].map(([name, form]) => [name, form.toLowerCase()] as const);
  return (bytes) => {
    const text = (typeof bytes === 'string' ? bytes : bytes.toString('latin1')).toLowerCase();
    return wanted.find(([, form]) => text.includes(form))?.[0];
  };
}
