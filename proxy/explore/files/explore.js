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
  return { status: response.status, page };
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
  for (const each of document.querySelectorAll('[data-copy]')) each.hidden = false;
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
});

document.addEventListener('submit', (event) => {
  if (event.target.matches('[data-search]')) {
    event.preventDefault();
    searchNow(event.target);
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
});

revealControls();
if (document.querySelector('[data-key-form]') !== null) {
  if (visitorKey() === null) wireKeyForm('');
  else show(location.href);
}
