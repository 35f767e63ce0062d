// Shows /openapi.json with Swagger UI. A key that is typed in stays in memory and is never stored.
const dark = matchMedia('(prefers-color-scheme: dark)');

function followColourScheme() {
  document.documentElement.classList.toggle('dark-mode', dark.matches);
}

followColourScheme();
dark.addEventListener('change', followColourScheme);

// The address in the contract is the public one. Requests from this page go to the host of the page.
const contract = await (await fetch('/openapi.json')).json();
contract.servers = [{ url: '/api/v1' }];

globalThis.SwaggerUIBundle({
  spec: contract,
  dom_id: '#reference',
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  // In this theme, all colours have enough contrast with the background.
  syntaxHighlight: { theme: 'tomorrow-night' },
  // By default, Swagger UI sends the URL of the document to an external validator.
  validatorUrl: null,
});
