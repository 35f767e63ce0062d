// Buttons that copy a text of the page. They are hidden until this runs.
const said = document.getElementById('copied');

for (const button of document.querySelectorAll('[data-copy]')) {
  const text = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      said.textContent = 'Copied.';
    } catch {
      // Without TLS or permission the browser keeps the clipboard shut: selected, it is one key away.
      getSelection().selectAllChildren(text);
      said.textContent = 'Selected: copy it with the keyboard.';
    }
  });
}
