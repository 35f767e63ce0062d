// The reference: its forms send real requests to this host with the key of the visitor, and the code beside
// a form follows it. The key is kept in the storage of this tab only, and sent in a header only. The filter
// hides the operations and objects that do not have all of its words.
import { addressOf, callSamples } from './call-samples.js';

const API = '/api/v1';
const STORED_KEY = 'covers-key';
const LONGEST_SHOWN = 20_000;
const SHOWN_HEADERS = [
  'x-ratelimit-remaining',
  'retry-after',
  'x-search-match',
  'x-snapshot',
  'etag',
];

const keyInputs = document.querySelectorAll('[data-key]');
for (const input of keyInputs) input.value = sessionStorage.getItem(STORED_KEY) ?? '';

document.addEventListener('input', ({ target }) => {
  if (target.id === 'words') filter(target.value);
  if (target.matches('[data-key]')) {
    const key = target.value.trim();
    if (key === '') sessionStorage.removeItem(STORED_KEY);
    else sessionStorage.setItem(STORED_KEY, key);
    for (const input of keyInputs) if (input !== target) input.value = key;
  }
  if (target.dataset.in !== undefined) followForm(target.form);
});
document.addEventListener('submit', (event) => {
  event.preventDefault();
  if (event.target.dataset.try !== undefined) send(event.target);
});

/** Puts the call that a form describes into the code of its operation. */
function followForm(form) {
  for (const { language, text } of callSamples(callOf(form))) {
    form.closest('[data-part]').querySelector(`.${language} code`).textContent = text;
  }
}

function filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const part of document.querySelectorAll('[data-part]')) {
    const described = (part.matches('.operation') ? part.firstElementChild : part).textContent;
    part.hidden = !words.every((word) => described.toLowerCase().includes(word));
    if (!part.hidden) found++;
    const link = document.querySelector(`#contents a[href="#${part.id}"]`);
    link.parentElement.hidden = part.hidden;
  }
  const status = document.querySelector('#filter [role="status"]');
  status.textContent = words.length === 0 ? '' : `${found} found`;
}

async function send(form) {
  const status = form.querySelector('[role="status"]');
  const box = form.querySelector('.code');
  const keyInput = form.querySelector('[data-key]');
  const key = keyInput.value.trim();
  // A header takes only ASCII: a key that was copied in its short form, "cck_1234…", is not complete.
  if (!/^[!-~]+$/.test(key)) {
    status.textContent = 'Enter your whole API key in the field above.';
    box.hidden = true;
    keyInput.focus();
    return;
  }
  const { headers, ...call } = callOf(form);
  const address = addressOf(call, API);
  status.textContent = `GET ${address} …`;
  const start = performance.now();
  try {
    const response = await fetch(address, {
      headers: { ...headers, Authorization: `Bearer ${key}` },
      cache: 'no-store',
    });
    const text = await response.text();
    const took = Math.round(performance.now() - start);
    status.textContent = `${response.status} ${response.statusText} in ${took} ms · GET ${address}`;
    box.querySelector('code').textContent = `${headerLines(response)}\n${indented(text)}`;
    box.hidden = false;
  } catch (error) {
    status.textContent = `The request failed: ${error.message}`;
    box.hidden = true;
  }
}

/** The call that the fields of a form describe, with its headers. */
function callOf(form) {
  const call = { path: form.dataset.try, pathValues: {}, query: {}, headers: {} };
  const { pathValues: path, query, headers: header } = call;
  for (const { name, value, dataset } of form.querySelectorAll('[data-in]')) {
    const text = value.trim();
    if (text !== '') ({ path, query, header })[dataset.in][name] = text;
  }
  return call;
}

function headerLines({ headers }) {
  return SHOWN_HEADERS.filter((name) => headers.has(name))
    .map((name) => `${name}: ${headers.get(name)}\n`)
    .join('');
}

function indented(text) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // A file of a snapshot need not be JSON. It is shown as it is.
  }
  return shown.length <= LONGEST_SHOWN ? shown : `${shown.slice(0, LONGEST_SHOWN)}\n…`;
}
