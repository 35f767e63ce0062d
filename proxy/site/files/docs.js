// The search of the docs. It reads all sections once, when someone is about to search.
const MOST_RESULTS = 12;

const form = document.querySelector('.docs-search');
const input = form.querySelector('input');
const status = form.querySelector('[role="status"]');
const results = document.querySelector('.docs-results');
const contents = document.querySelector('.docs-side nav');
let sections;

input.addEventListener('focus', load);
input.addEventListener('input', search);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  results.querySelector('a')?.click();
});
input.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape') return;
  input.value = '';
  search();
});
// The result may be on this page.
results.addEventListener('click', () => {
  input.value = '';
  search();
});

/** @returns all sections; the same promise every time */
function load() {
  sections ??= fetch('/docs/search.json').then((response) => response.json());
  return sections;
}

async function search() {
  const words = wordsOf(input.value);
  const found = words.length === 0 ? [] : rank(await load(), words);
  // Newer text has been typed in the meantime.
  if (words.join() !== wordsOf(input.value).join()) return;
  contents.hidden = words.length > 0;
  results.hidden = words.length === 0;
  results.replaceChildren(...found.slice(0, MOST_RESULTS).map((section) => item(section, words)));
  const count = found.length === 0 ? 'Nothing found.' : `${found.length} found.`;
  if (words.length > 0 && found.length === 0) results.append(nothing());
  status.textContent = words.length === 0 ? '' : count;
}

/** Sections with all words, those with more of them in the title first. */
function rank(all, words) {
  return all
    .map((section) => ({ ...section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
}

function scoreOf({ title, content }, words) {
  const [lowTitle, lowContent] = [title.toLowerCase(), content.toLowerCase()];
  let score = 0;
  for (const word of words) {
    if (lowTitle.includes(word)) score += 10;
    else if (lowContent.includes(word)) score += 1;
    else return 0;
  }
  return score;
}

function wordsOf(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

function item({ path, title, content }, words) {
  const link = document.createElement('a');
  link.href = path;
  link.textContent = title;
  const excerpt = document.createElement('small');
  const at = Math.max(0, content.toLowerCase().indexOf(words[0]) - 30);
  excerpt.textContent = `${at > 0 ? '…' : ''}${content.slice(at, at + 90)}…`;
  link.append(excerpt);
  const row = document.createElement('li');
  row.append(link);
  return row;
}

function nothing() {
  const row = document.createElement('li');
  row.textContent = 'Nothing found. Try another word.';
  return row;
}
