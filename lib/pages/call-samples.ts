/**
 * A call of the API as code that can be pasted and run, without packages: for curl, for JavaScript in
 * Node, and for Python. All three read the key from the environment variable COVERS_KEY. Every value is
 * encoded and then contains no quotes or backslashes, so it cannot become code.
 */
import type { Sample } from './code-block.ts';

export interface SampleCall {
  /** The path as the contract has it, such as `/games/{platformSlug}/{gameSlug}`. */
  readonly path: string;
  /** The values for the names in braces. */
  readonly pathValues?: Readonly<Record<string, string>>;
  /** Parameters that are undefined are left out. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** The file for a response that is not JSON: then only curl is shown. */
  readonly file?: string;
}

/** @param api the address of the API, with the base path and without a slash at the end */
export function callSamples(call: SampleCall, api: string): Sample[] {
  const address = addressOf(call, api);
  const { file } = call;
  const curl = `curl -H "Authorization: Bearer $COVERS_KEY" \\
  '${address}'${file === undefined ? '' : ` -o ${file}`}`;
  if (file !== undefined) return [{ language: 'curl', text: curl }];
  const javascript = `const response = await fetch('${address}', {
  headers: { Authorization: \`Bearer \${process.env.COVERS_KEY}\` },
});
console.log(JSON.stringify(await response.json(), null, 2));`;
  const python = `import json, os, urllib.request

request = urllib.request.Request(
    "${address}",
    headers={"Authorization": "Bearer " + os.environ["COVERS_KEY"]},
)
with urllib.request.urlopen(request) as response:
    print(json.dumps(json.load(response), indent=2))`;
  return [
    { language: 'curl', text: curl },
    { language: 'javascript', text: javascript },
    { language: 'python', text: python },
  ];
}

/** The address of a call, percent-encoded. */
export function addressOf({ path, pathValues = {}, query = {} }: SampleCall, api: string): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeValue(pathValues[name] ?? ''),
  );
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeValue(name)}=${encodeValue(value)}`],
  );
  return `${api}${filled}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

/** Slashes and commas stay as they are: the API reads them, and so can people. */
export function encodeValue(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll('%2F', '/')
    .replaceAll('%2C', ',')
    .replaceAll("'", '%27');
}
