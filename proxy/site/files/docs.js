// Shows /openapi.json with Swagger UI. Keys that users enter stay in the memory of the page.
const dark = matchMedia('(prefers-color-scheme: dark)');

function followColourScheme() {
  document.documentElement.classList.toggle('dark-mode', dark.matches);
}

followColourScheme();
dark.addEventListener('change', followColourScheme);

globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  // In this theme, all colours have enough contrast with the background.
  syntaxHighlight: { theme: 'tomorrow-night' },
  // Otherwise the page would send the document's address to a third-party validator.
  validatorUrl: null,
});
