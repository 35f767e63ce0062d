// Makes the buttons work that copy a text of the page. They are hidden until this script runs.
const message = document.getElementById('copied');

for (const button of document.querySelectorAll('[data-copy]')) {
  const text = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      message.textContent = 'Copied.';
    } catch {
      // Browsers refuse without TLS or permission. Selects the text instead, so that people can copy it.
      getSelection().selectAllChildren(text);
      message.textContent = 'Selected. Copy it with the keyboard.';
    }
  });
}
