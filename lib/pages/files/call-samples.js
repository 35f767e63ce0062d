/**
 * A call of the API as code that can be pasted and run, without packages: for curl, for JavaScript in Node, and
 * for Python. All three read the address of the API from the environment variable COVERS_API, and the key from
 * COVERS_KEY. Each parameter has a line. Pages are made with it, and the reference follows its forms with it.
 *
 * Invariant: no value becomes code. It is percent-encoded in an address, and quoted elsewhere.
 *
 * @typedef {object} SampleCall
 * @property {string} path as the contract has it, such as `/games/{platformSlug}/{gameSlug}`
 * @property {Readonly<Record<string, string>> | undefined} [pathValues] for the names in braces
 * @property {Readonly<Record<string, string | undefined>>} [query] those that are undefined are left out
 * @property {string} [file] the file for a response that is not JSON: then only curl is shown
 */

/** With the rest of its line, a piece of a value fits into the code of the reference, 53 characters. */
const LONGEST_PIECE = 25;

/** @param {SampleCall} call */
export function callSamples({ path, pathValues, query = {}, file }) {
  const address = addressOf({ path, pathValues }, '');
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: value.toWellFormed() }],
  );
  const curl = curlSample(address, parameters, file);
  if (file !== undefined) return [curl];
  return [curl, javascriptSample(address, parameters), pythonSample(address, parameters)];
}

/** @typedef {readonly { readonly name: string, readonly value: string }[]} Parameters */

/**
 * @param {string} address
 * @param {Parameters} parameters
 * @param {string | undefined} file
 */
function curlSample(address, parameters, file) {
  const lines = [
    `curl${parameters.length > 0 ? ' -G' : ''} "$COVERS_API${address}"`,
    '-H "Authorization: Bearer $COVERS_KEY"',
    ...parameters.map(({ name, value }) => {
      if (/^[\w.,:/-]{0,40}$/.test(value)) return `-d ${name}=${value}`;
      const [first, ...others] = piecesOf(value);
      const pieces = [`${name}=${first}`, ...others].map(
        (piece) => `'${piece.replaceAll("'", "'\\''")}'`,
      );
      return `--data-urlencode ${pieces.join('\\\n')}`;
    }),
    ...(file === undefined ? [] : [`-o ${file}`]),
  ];
  return /** @type {const} */ ({ language: 'curl', text: lines.join(' \\\n  ') });
}

/**
 * @param {string} address
 * @param {Parameters} parameters
 */
function javascriptSample(address, parameters) {
  const quoted = (/** @type {string} */ text) =>
    /^[^'\\\p{C}]*$/u.test(text) ? `'${text}'` : JSON.stringify(text);
  const members = parameters.map(({ name, value }) => {
    const pieces = piecesOf(value).map(quoted);
    return `  ${name}:${pieces.length > 1 ? '\n    ' : ' '}${pieces.join(' +\n    ')},\n`;
  });
  const query =
    members.length > 0 && `const query = new URLSearchParams({\n${members.join('')}});\n`;
  const text = `const api = process.env.COVERS_API;
const key = process.env.COVERS_KEY;
${query || ''}const response = await fetch(
  \`\${api}${address}${query ? `?\${query}` : ''}\`,
  { headers: { Authorization: \`Bearer \${key}\` } },
);
const body = await response.json();
console.log(JSON.stringify(body, null, 2));`;
  return /** @type {const} */ ({ language: 'javascript', text });
}

/**
 * @param {string} address
 * @param {Parameters} parameters
 */
function pythonSample(address, parameters) {
  const members = parameters.map(({ name, value }) => {
    // A text of JSON is one of Python, too.
    const pieces = piecesOf(value).map((piece) => JSON.stringify(piece));
    return `    "${name}": ${pieces.join('\n    ')},\n`;
  });
  const query = members.length > 0 && `query = urllib.parse.urlencode({\n${members.join('')}})\n`;
  const text = `import json, os, ${query ? 'urllib.parse, ' : ''}urllib.request

api = os.environ["COVERS_API"]
key = os.environ["COVERS_KEY"]
${query || ''}request = urllib.request.Request(
    f"{api}${address}${query ? '?{query}' : ''}",
    headers={"Authorization": f"Bearer {key}"},
)
with urllib.request.urlopen(request) as response:
    print(json.dumps(json.load(response), indent=2))`;
  return /** @type {const} */ ({ language: 'python', text });
}

/**
 * Cuts a long value behind slashes, commas and spaces.
 * @param {string} value
 */
function piecesOf(value) {
  const pieces = [''];
  for (const part of value.split(/(?<=[/, ])/)) {
    const joined = pieces.at(-1) + part;
    if (joined.length <= LONGEST_PIECE || pieces.at(-1) === '') pieces[pieces.length - 1] = joined;
    else pieces.push(part);
  }
  return pieces;
}

/**
 * The address of a call, percent-encoded.
 * @param {SampleCall} call
 * @param {string} api the address of the API, with the base path and without a slash at the end
 */
export function addressOf({ path, pathValues = {}, query = {} }, api) {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeValue(pathValues[name] ?? ''));
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeValue(value)}`],
  );
  return `${api}${filled}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

/**
 * Slashes and commas stay as they are: the API reads them, and so can people. Shells read `'` and `!`.
 * @param {string} text
 */
export function encodeValue(text) {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll('%2F', '/')
    .replaceAll('%2C', ',')
    .replaceAll("'", '%27')
    .replaceAll('!', '%21');
}
