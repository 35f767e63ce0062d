// Makes the forms of the reference work: each sends a real request to this host, with the key of the
// visitor. The key is kept in the storage of this tab only, and sent in a header only.
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

const keyForm = document.getElementById('your-key');
const keyInput = document.getElementById('key');
keyForm.addEventListener('submit', (event) => event.preventDefault());
keyInput.value = sessionStorage.getItem(STORED_KEY) ?? '';
keyInput.addEventListener('input', () => {
  const key = keyInput.value.trim();
  if (key === '') sessionStorage.removeItem(STORED_KEY);
  else sessionStorage.setItem(STORED_KEY, key);
});

for (const form of document.querySelectorAll('[data-try]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send(form.dataset.try, form);
  });
}

async function send(template, form) {
  const status = form.querySelector('[role="status"]');
  const box = form.querySelector('.code');
  const key = keyInput.value.trim();
  // A header takes only ASCII: a key that was copied in its short form, "cck_1234…", is not complete.
  if (!/^[!-~]+$/.test(key)) {
    status.textContent = 'Enter your whole API key at the top of this page first.';
    box.hidden = true;
    keyInput.focus();
    return;
  }
  const { address, headers } = requestOf(template, form);
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
function requestOf(template, form) {
  const query = new URLSearchParams();
  const headers = {};
  let path = template;
  for (const { name, value, dataset } of form.querySelectorAll('[data-in]')) {
    const text = value.trim();
    if (dataset.in === 'path') {
      path = path.replace(`{${name}}`, encodeURIComponent(text).replaceAll('%2F', '/'));
    } else if (text !== '' && dataset.in === 'query') query.set(name, text);
    else if (text !== '') headers[name] = text;
  }
  const search = query.toString();
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
