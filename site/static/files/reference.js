// The reference: its forms send real requests to this host with the key of the visitor, and the code beside
// a form follows it. The key is kept in the storage of this tab only, and sent in a header only. The filter
// hides the operations and objects that do not have all of its words.
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

/** Puts the address that a form describes into the code of its operation. */
function followForm(form) {
  const { shown } = form.dataset;
  const [host] = shown.split(API, 1);
  const address = host + requestOf(form).address.replaceAll("'", '%27');
  for (const code of form.closest('[data-part]').querySelectorAll('.sample code')) {
    code.textContent = code.textContent.replaceAll(shown, address);
  }
  form.dataset.shown = address;
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
  const { address, headers } = requestOf(form);
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

/** The address and the headers that the fields of a form describe. */
function requestOf(form) {
  const query = new URLSearchParams();
  const headers = {};
  let path = form.dataset.try;
  for (const { name, value, dataset } of form.querySelectorAll('[data-in]')) {
    const text = value.trim();
    if (dataset.in === 'path') {
      path = path.replace(`{${name}}`, encodeURIComponent(text).replaceAll('%2F', '/'));
    } else if (text !== '' && dataset.in === 'query') query.set(name, text);
    else if (text !== '') headers[name] = text;
  }
  // Slashes and commas can be read as they are.
  const search = query.toString().replaceAll('%2F', '/').replaceAll('%2C', ',');
  return { address: `${API}${path}${search === '' ? '' : `?${search}`}`, headers };
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
