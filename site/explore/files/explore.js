// The explorer works without this script, which searches while the visitor types, and matches lists of any
// length. All markup comes from the server, which escapes it: the script replaces parts of the page with
// those of another page, and never makes markup from data.
const TYPING_MS = 150;
// A page of matches takes so many names in its address, which has at most 8 KiB.
const MOST_NAMES = 50;
const MOST_NAME_BYTES = 6_000;

let loading = new AbortController();
let typing;

/** Ends what is under way: only the last search, or the last list of names, is shown. */
function begin() {
  loading.abort();
  loading = new AbortController();
  return loading.signal;
}

async function fetchPage(address, signal) {
  const response = await fetch(address, { signal });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  return { status: response.status, page, wait: response.headers.get('retry-after') };
}

/** Shows the results of another address. */
async function show(address) {
  const { status, page } = await fetchPage(address, begin());
  const results = page.getElementById('results');
  if (status !== 200 || results === null) {
    // Such as over the limit: the visitor keeps what is there, and can go on typing.
    announce(faultOf(page));
    return;
  }
  history.replaceState(null, '', address);
  document.title = page.title;
  const language = document.querySelector('[name="call"]:checked')?.value;
  document.getElementById('results').replaceWith(results);
  const chosen = results.querySelector(`[name="call"][value="${language}"]`);
  if (chosen !== null) chosen.checked = true;
  announce(page.getElementById('found').textContent);
}

/** What a page says is wrong. A server in front of the proxy has error pages of its own. */
function faultOf(page) {
  return page.querySelector('.lead')?.textContent ?? 'The search failed. Try again in a minute.';
}

/** Tells everyone, screen readers included. */
function announce(text) {
  const found = document.getElementById('found');
  if (found.textContent !== text) found.textContent = text;
}

/** Says that a fetch has failed, unless something newer has ended it. */
function announceFailure(error) {
  if (error.name === 'AbortError') return;
  announce('The explorer cannot be reached. Check your connection, then try again.');
}

/** Shows what the form describes, without fields that are empty or the default. @param delay in milliseconds */
function search(form, delay) {
  clearTimeout(typing);
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) {
    const isDefault = value.trim() === '' || (name === 'sort' && value === 'relevance');
    if (isDefault) query.delete(name);
  }
  const address = query.size === 0 ? form.action : `${form.action}?${query}`;
  typing = setTimeout(() => show(address).catch(announceFailure), delay);
}

/** The names in the form, in lists for one page each. */
function partsOf(form) {
  const parts = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const line of form.elements.names.value.toWellFormed().split('\n')) {
    const name = line.trim().replace(/^.*[/\\](?=.)/, '');
    const more = encodeURIComponent(name).length + 3;
    if (bytes + more > MOST_NAME_BYTES || parts.at(-1).length === MOST_NAMES) {
      parts.push([]);
      bytes = 0;
    }
    if (name === '') continue;
    parts.at(-1).push(name);
    bytes += more;
  }
  return parts;
}

/** Matches all names, one page after another, and shows the rows of all pages in one table. */
async function matchFiles(form) {
  const signal = begin();
  const parts = partsOf(form);
  const total = parts.flat().length;
  const { platform, prefer } = form.elements;
  for (let at = 0; at < parts.length; ) {
    const names = parts[at].join('\n');
    const query = new URLSearchParams({ platform: platform.value, prefer: prefer.value, names });
    const { status, page, wait } = await fetchPage(`${form.action}?${query}`, signal);
    if (status !== 200) {
      announce(faultOf(page));
      if (wait === null) return;
      await new Promise((resolve) => setTimeout(resolve, wait * 1_000));
      continue;
    }
    if (at === 0) document.getElementById('results').replaceWith(page.getElementById('results'));
    else document.getElementById('matches').append(...page.querySelectorAll('#matches > tr'));
    at++;
    const results = matchResults();
    const found = results.filter(({ match }) => match !== null).length;
    announce(
      `${results.length} of ${countOf(total, 'name')} read, ${countOf(found, 'game')} found`,
    );
  }
}

function countOf(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function matchResults() {
  const rows = document.querySelectorAll('[data-result]');
  return [...rows].map(({ dataset }) => JSON.parse(dataset.result));
}

/** Offers a script that saves the fronts, each under the name of its file. */
function downloadScript(results) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = results.flatMap(({ name, cover }) => {
    if (cover === null) return [];
    const [extension = ''] = /\.\w+$/.exec(new URL(cover).pathname) ?? [];
    const file = `covers/${name.replace(/(?<=.)\.\w{1,8}$/, '')}${extension}`;
    return `curl -sS --create-dirs -o ${quote(file)} ${quote(cover)}\n`;
  });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([`#!/bin/sh\n${lines.join('')}`]));
  link.download = 'covers.sh';
  link.click();
  announce(`Run covers.sh: it saves ${countOf(lines.length, 'cover')}`);
}

async function copyResults(format) {
  const results = matchResults();
  if (format === 'sh') return downloadScript(results);
  const lines = [...document.querySelectorAll('[data-csv]')].map(({ dataset }) => dataset.csv);
  const csv = lines.map((line) => `${line}\r\n`).join('');
  try {
    await navigator.clipboard.writeText(format === 'csv' ? csv : JSON.stringify(results, null, 1));
    announce(`Copied ${countOf(results.length, 'result')}`);
  } catch {
    announce('Your browser does not allow this page to copy');
  }
}

function addNames(field, files) {
  const names = files.map(({ name }) => name).filter((name) => !name.startsWith('.'));
  field.value = [field.value.trim(), ...names.sort()].filter(Boolean).join('\n');
}

document.addEventListener('input', ({ target }) => {
  if (target.form?.matches('[data-search]') && target.name === 'q') search(target.form, TYPING_MS);
});

document.addEventListener('change', ({ target }) => {
  if (target.name === 'sort') search(target.form, 0);
  if (target.matches('[data-folder]')) addNames(target.form.elements.names, [...target.files]);
});

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!form.matches('[data-search], [data-match]')) return;
  event.preventDefault();
  if (form.matches('[data-search]')) search(form, 0);
  else matchFiles(form).catch(announceFailure);
});

document.addEventListener('click', ({ target }) => {
  const format = target.closest?.('[data-copy-results] > button')?.value;
  if (format !== undefined) copyResults(format);
  const chosen = target.closest?.('[data-choose]');
  if (!chosen) return;
  const row = chosen.nextElementSibling.content.querySelector('tr').cloneNode(true);
  chosen.closest('tr').replaceWith(row);
  row.querySelector('a').focus();
});
