/**
 * A call of the API as code that can be pasted and run, without packages: for curl, for JavaScript in
 * Node, and for Python. All three read the key from the environment variable COVERS_KEY. Every value
 * is quoted, so that it cannot become code.
 */
import type { Sample } from './code-block.ts';

export interface Call {
  /** The path as the contract has it, such as `/games/{platformSlug}/{gameSlug}`. */
  readonly path: string;
  /** The values for the names in braces. */
  readonly pathValues?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
}

/** @param api the address of the API, with the base path and without a slash at the end */
export function callSamples(call: Call, api: string): Sample[] {
  return [
    { language: 'curl', text: curl(call, api) },
    { language: 'javascript', text: javascript(call, api) },
    { language: 'python', text: python(call, api) },
  ];
}

/** The address of a call, percent-encoded. */
export function addressOf({ path, pathValues = {}, query = {} }: Call, api: string): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encode(pathValues[name] ?? ''));
  const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return `${api}${filled}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

/** Slashes and commas stay as they are: the API reads them, and so can people. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll('%2F', '/')
    .replaceAll('%2C', ',')
    .replaceAll("'", '%27');
}

function curl(call: Call, api: string): string {
  return `curl -H "Authorization: Bearer $COVERS_KEY" \\
  '${addressOf(call, api)}'`;
}

function javascript(call: Call, api: string): string {
  return `const response = await fetch(${quoted(addressOf(call, api))}, {
  headers: { Authorization: \`Bearer \${process.env.COVERS_KEY}\` },
});
console.log(JSON.stringify(await response.json(), null, 2));`;
}

function python(call: Call, api: string): string {
  return `import json, os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(addressOf(call, api))},
    headers={"Authorization": "Bearer " + os.environ["COVERS_KEY"]},
)
with urllib.request.urlopen(request) as response:
    print(json.dumps(json.load(response), indent=2))`;
}

/** A text as a literal of JavaScript in single quotes. */
function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inner}'`;
}
