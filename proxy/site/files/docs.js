// Shows /openapi.json with Swagger UI. Keys typed here stay in the page's memory: nothing is stored.
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
  // Of its themes one whose colours all stand out from the ground.
  syntaxHighlight: { theme: 'tomorrow-night' },
  // Without this the page would send the document's address to a service of others.
  validatorUrl: null,
});
