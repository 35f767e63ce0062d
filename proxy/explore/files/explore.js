// The explorer works without this script, if its operator has set a key. The script searches while the
// visitor types, and keeps the visitor's own key in this tab.
// All markup comes from the server, which escapes it: the script replaces parts of the page with those
// of another page, and never makes markup from data.
const TYPING_MS = 150;
/** The reference uses the same name: a key that is entered once works in both. */
const KEY_NAME = 'covers-key';
/** A header takes only ASCII: a key that was copied in its short form, "cck_1234…", cannot be sent. */
const SENDABLE = /^[!-~]+$/;
const KEY_REFUSED = 'This key was not accepted. Check that it is complete and has been approved.';

const main = document.querySelector('main');
let loading = new AbortController();
let typing;

/** The visitor's key; null without one, or if it cannot be sent, such as one that was typed in part. */
function visitorKey() {
  const key = sessionStorage.getItem(KEY_NAME);
  return key !== null && SENDABLE.test(key) ? key : null;
}

/** Fetches a page, and aborts the earlier fetch if it is still under way. */
async function fetchPage(address) {
  loading.abort();
  loading = new AbortController();
  const { signal } = loading;
  const key = visitorKey();
  const fetched = await fetchWith(key, address, signal);
  if (key === null || fetched.status !== 401) return fetched;
  // The key is refused. Without it, the explorer uses its own, or asks for another one.
  sessionStorage.removeItem(KEY_NAME);
  return fetchWith(null, address, signal);
}

async function fetchWith(key, address, signal) {
  const headers = key === null ? {} : { Authorization: `Bearer ${key}` };
  const response = await fetch(address, { headers, signal });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  return { status: response.status, page, wait: response.headers.get('retry-after') };
}

/** Shows the page of an address: its results, or all of it if it has none. */
async function show(address) {
  let fetched;
  try {
    fetched = await fetchPage(address);
  } catch (error) {
    // The visitor has typed on, or the network is gone: then the next letter tries again.
    if (error.name === 'AbortError') return;
    announce('The search cannot be reached. Check your connection.');
    wireKeyForm('The explorer cannot be reached. Check your connection, then try again.');
    return;
  }
  const { status, page } = fetched;
  const old = document.getElementById('results');
  if (status >= 400 && status !== 401 && old !== null) {
    // Such as over the limit: the visitor keeps what is there, and can go on typing.
    // A server in front of the proxy has error pages of its own.
    announce(
      page.querySelector('.lead')?.textContent ?? 'The search failed. Try again in a minute.',
    );
    return;
  }
  history.replaceState(null, '', address);
  document.title = page.title;
  const results = page.getElementById('results');
  const language = document.querySelector('[name="call"]:checked')?.value;
  if (results !== null && old !== null) {
    old.replaceWith(results);
    announce(page.getElementById('found').textContent);
  } else {
    main.replaceChildren(...page.querySelector('main').childNodes);
    wireKeyForm(KEY_REFUSED);
  }
  const chosen = document.querySelector(`[name="call"][value="${language}"]`);
  if (chosen !== null) chosen.checked = true;
  revealControls();
}

/** Tells everyone, screen readers included. */
function announce(text) {
  const found = document.getElementById('found');
  if (found !== null && found.textContent !== text) found.textContent = text;
}

/** Shows what works only with this script. */
function revealControls() {
  const scripted = '[data-copy], [data-scripted], [data-copy-results]';
  for (const each of document.querySelectorAll(scripted)) each.hidden = false;
  const hasKey = visitorKey() !== null;
  for (const each of document.querySelectorAll('[data-forget-key]')) each.hidden = !hasKey;
}

/** The address of the search that the form describes, without fields that are empty or the default. */
function addressOf(form) {
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) {
    const isDefault = value.trim() === '' || (name === 'sort' && value === 'relevance');
    if (isDefault) query.delete(name);
  }
  return query.size === 0 ? form.action : `${form.action}?${query}`;
}

function searchSoon(form) {
  clearTimeout(typing);
  typing = setTimeout(() => show(addressOf(form)), TYPING_MS);
}

function searchNow(form) {
  clearTimeout(typing);
  show(addressOf(form));
}

// Matching files. A page takes so many names in its address, which has at most 8 KiB.
const MOST_NAMES = 50;
const MOST_NAME_BYTES = 6_000;
/** Counts the lists that were sent: a newer one ends the one before. */
let matching = 0;

/** The names in the form, in lists for one page each. */
function partsOf(form) {
  const lines = form.elements.names.value.split('\n').map((line) => line.trim());
  const parts = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    const name = line.replace(/^.*[/\\](?=.)/, '').toWellFormed();
    const more = encodeURIComponent(name).length + 3;
    if (name === '') continue;
    if (bytes + more > MOST_NAME_BYTES || parts.at(-1).length === MOST_NAMES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1).push(name);
    bytes += more;
  }
  return parts;
}

/** Matches all names, one page after another, and shows the rows of all pages in one table. */
async function matchFiles(form) {
  const run = ++matching;
  const parts = partsOf(form);
  const total = parts.flat().length;
  const { platform, prefer } = form.elements;
  for (let at = 0; at < parts.length; ) {
    const names = parts[at].join('\n');
    const query = new URLSearchParams({ platform: platform.value, prefer: prefer.value, names });
    const { status, page, wait } = await fetchPage(`${form.action}?${query}`);
    const rows = page.querySelectorAll('#matches > tr');
    if (run !== matching) return;
    if (status !== 200) {
      announce(page.querySelector('.lead').textContent);
      if (wait === null) return;
      await new Promise((resolve) => setTimeout(resolve, wait * 1_000));
      if (run !== matching) return;
      continue;
    }
    if (at === 0) document.getElementById('results').replaceWith(page.getElementById('results'));
    else document.getElementById('matches').append(...rows);
    at++;
    const results = matchResults();
    const found = results.filter(({ match }) => match !== null).length;
    announce(`${results.length} of ${total} names read, ${found} games found`);
    revealControls();
  }
}

function matchResults() {
  return [...document.querySelectorAll('[data-result]')].map((row) =>
    JSON.parse(row.dataset.result),
  );
}

async function copyResults(format) {
  const results = matchResults();
  const quote = (value) => `"${String(value ?? '').replaceAll('"', '""')}"`;
  const lines = [Object.keys(results[0]), ...results.map(Object.values)];
  const csv = lines.map((values) => `${values.map(quote)}\r\n`).join('');
  try {
    await navigator.clipboard.writeText(format === 'csv' ? csv : JSON.stringify(results, null, 1));
    announce(`Copied ${results.length} results`);
  } catch {
    announce('Your browser does not allow this page to copy');
  }
}

function addNames(form, names) {
  const { value } = form.elements.names;
  const shown = names.filter((name) => !name.startsWith('.')).sort();
  form.elements.names.value = [value.trim(), ...shown].filter(Boolean).join('\n');
}

/** The names of the files in what was dropped: a file, or a folder with all that is in it. */
async function namesIn(entry) {
  if (entry.isFile) return [entry.name];
  const reader = entry.createReader();
  const names = [];
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return names;
    for (const each of entries) names.push(...(await namesIn(each)));
  }
}

/** Shows the form for a key, if the page has one. @param fault why a key did not work; '' without one */
function wireKeyForm(fault) {
  const form = document.querySelector('[data-key-form]');
  if (form === null) return;
  form.hidden = false;
  const error = document.querySelector('[data-key-error]');
  error.textContent = fault;
  error.hidden = fault === '';
  form.querySelector('input').focus();
}

function useKey(key) {
  if (!SENDABLE.test(key)) {
    wireKeyForm(KEY_REFUSED);
    return;
  }
  sessionStorage.setItem(KEY_NAME, key);
  show(location.href);
}

document.addEventListener('input', ({ target }) => {
  if (target.form?.matches('[data-search]') && target.name === 'q') searchSoon(target.form);
});

document.addEventListener('change', ({ target }) => {
  if (target.name === 'sort') searchNow(target.form);
  if (target.matches('[data-folder]'))
    addNames(
      target.form,
      [...target.files].map(({ name }) => name),
    );
});

document.addEventListener('dragover', (event) => {
  if (event.target.closest?.('[data-match]')) event.preventDefault();
});

document.addEventListener('drop', async (event) => {
  const form = event.target.closest?.('[data-match]');
  if (!form || !event.dataTransfer.types.includes('Files')) return;
  event.preventDefault();
  // The items are gone after the first pause.
  const items = [...event.dataTransfer.items].filter(({ kind }) => kind === 'file');
  const names = items.map((item) => {
    const entry = item.webkitGetAsEntry();
    return entry === null ? [item.getAsFile().name] : namesIn(entry);
  });
  addNames(form, (await Promise.all(names)).flat());
});

document.addEventListener('submit', (event) => {
  if (event.target.matches('[data-search]')) {
    event.preventDefault();
    searchNow(event.target);
  } else if (event.target.matches('[data-match]')) {
    event.preventDefault();
    matchFiles(event.target).catch((error) => {
      if (error.name !== 'AbortError') announce('The search cannot be reached. Try again.');
    });
  } else if (event.target.matches('[data-key-form]')) {
    event.preventDefault();
    useKey(event.target.querySelector('input').value.trim());
  }
});

document.addEventListener('click', ({ target }) => {
  if (target.closest?.('[data-forget-key]')) {
    sessionStorage.removeItem(KEY_NAME);
    location.reload();
  }
  const format = target.closest?.('[data-copy-results] > button')?.value;
  if (format !== undefined) copyResults(format);
});

revealControls();
if (document.querySelector('[data-key-form]') !== null) {
  if (visitorKey() === null) wireKeyForm('');
  else show(location.href);
}
