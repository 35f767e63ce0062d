// Makes the copy buttons work, also those that another script adds later. Without scripts, they are hidden.
const SHOWN_MS = 2_000;

/** Tells screen readers what happened; the button itself tells everyone else. */
const message = document.createElement('p');
message.className = 'unseen';
message.setAttribute('role', 'status');
document.body.append(message);

document.addEventListener('click', async ({ target }) => {
  const button = target.closest?.('[data-copy]');
  if (!button) return;
  const text = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(text.textContent);
    message.textContent = 'Copied.';
    show(button, 'Copied');
  } catch {
    // Browsers refuse without TLS or permission. Then people can copy the text themselves: it is selected.
    getSelection().selectAllChildren(text);
    message.textContent = 'Selected. Copy it with the keyboard.';
    show(button, 'Selected');
  }
});

/** Replaces the first word of the button for a moment. */
function show(button, word) {
  const [label] = button.childNodes;
  label.data = word;
  setTimeout(() => {
    label.data = 'Copy';
  }, SHOWN_MS);
}
