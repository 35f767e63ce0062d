/** How Chromium is started. */

// Without the network flags Chromium contacts its vendor at every start. Playwright creates a new
// folder of user data each time, and removes it.
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'],
  ...['--no-first-run', '--disable-background-networking', '--disable-component-update'],
  '--disable-sync',
];

export const CHROMIUM = { executablePath: '/usr/bin/chromium', args: FLAGS };
