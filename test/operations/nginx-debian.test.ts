/**
 * The API and the account pages as one site among others of Debian's nginx, from the files in
 * operations/nginx/: all that holds behind nginx.conf holds here too, and the site that was there
 * before answers as if nothing had been added.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  askHttp1,
  type FrontRequest,
  makeCertificate,
  type NginxForm,
  type NginxSetup,
  openTls,
  type RunningNginx,
  startNginx,
  useNginxForm,
} from '../support/servers/nginx.ts';
import './nginx.test.ts';
import './nginx-account.test.ts';
import { makeFolder, ROOT } from '../support/product.ts';
import { freePort } from '../support/servers/ports.ts';
import { readToEnd } from '../support/servers/sockets.ts';

const OTHER_NAME = 'www.example.org';
const files = makeFolder();
const certificate = path.join(files, 'other.pem');
const certificateKey = path.join(files, 'other-key.pem');

/** /etc/nginx/nginx.conf of Debian 12 without its comments. */
const debianMain = (place: NginxSetup) => `user www-data;
worker_processes auto;
pid /run/nginx.pid;
error_log /var/log/nginx/error.log;

events {
	worker_connections 768;
}

http {
	sendfile on;
	tcp_nopush on;
	types_hash_max_size 2048;
	types { text/html html; text/css css; }
	default_type application/octet-stream;
	ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3;
	ssl_prefer_server_ciphers on;
	access_log ${place.inFolder('other-site.log')};
	gzip on;
	include conf.d/*.conf;
	include sites-enabled/*;
}
`;

/** The site that was there first. It has the names that come to mind, and settings of its own. */
const otherSite = ({ httpsPort, httpPort }: NginxSetup) => `
upstream api { server 127.0.0.1:1; }
map $uri $error_text { default "other"; }
limit_conn_zone $binary_remote_addr zone=clients:1m;
log_format api '$request';
server {
	listen 127.0.0.1:${httpPort} default_server;
	listen 127.0.0.1:${httpsPort} ssl default_server;
	server_name ${OTHER_NAME};
	ssl_certificate ${certificate};
	ssl_certificate_key ${certificateKey};
	ssl_session_cache shared:tls:1m;
	root ${files};
	location = /error { return 200 "$error_text"; }
	location /api { proxy_pass http://api; }
}
`;

const ours = (name: string) =>
  readFileSync(path.join(ROOT, `operations/nginx/cover-catalogue-${name}.conf`), 'utf8');

const BESIDE_IT: NginxForm = (place) => ({
  'nginx.conf': debianMain(place),
  'sites-enabled/default': otherSite(place),
  'conf.d/cover-catalogue-upstream.conf': ours('upstream'),
  'snippets/cover-catalogue-settings.conf': ours('settings'),
  'snippets/cover-catalogue-locations.conf': ours('locations'),
  'sites-enabled/cover-catalogue': ours('site'),
});

/** Ours are where this nginx does not look. */
const OTHER_SITE_ALONE: NginxForm = (place) =>
  Object.fromEntries(
    Object.entries(BESIDE_IT(place)).map(([name, text]) => [
      name.replace(/^.*\/(?=cover-catalogue)/, 'elsewhere/'),
      text,
    ]),
  );

/** As its comment says where the other sites may speak HTTP/2. */
const WITH_HTTP2: NginxForm = (place) => ({
  ...BESIDE_IT(place),
  'sites-enabled/cover-catalogue': ours('site').replaceAll(/ ssl;$/gm, ' ssl http2;'),
});

// The workers of nginx are another user.
chmodSync(files, 0o755);
await makeCertificate(OTHER_NAME, certificate, certificateKey);
writeFileSync(path.join(files, 'index.html'), `<p>${'hello '.repeat(500)}</p>`);
writeFileSync(path.join(files, 'page.css'), 'p { color: red }');
mkdirSync(path.join(files, 'account'));
writeFileSync(path.join(files, 'account/page.html'), 'its own page');
// For the tests that are imported.
useNginxForm(WITH_HTTP2);

describe('the site that was there before', () => {
  let before: RunningNginx;
  let after: RunningNginx;

  beforeAll(async () => {
    // The API is not running here.
    const port = await freePort();
    useNginxForm(OTHER_SITE_ALONE);
    before = await startNginx(port);
    useNginxForm(BESIDE_IT);
    after = await startNginx(port);
  });

  afterAll(async () => {
    await Promise.all([before?.stop(), after?.stop()]);
  });

  const askOther = async ({ httpsPort }: RunningNginx, target: string, options?: FrontRequest) => {
    const place = { httpsPort, ca: readFileSync(certificate, 'utf8') };
    const { status, text, headers } = await askHttp1(place, target, {
      ...options,
      name: OTHER_NAME,
    });
    const { date: _, ...fields } = headers;
    return { status, text, fields };
  };

  test.each<[string, string, FrontRequest]>([
    ['a page', '/', {}],
    ['a compressed page', '/', { headers: { 'accept-encoding': 'gzip' } }],
    ['two slashes', '//page.css', {}],
    ['a path that the API has too', '/account/page.html', {}],
    ['an error of nginx', '/nothing', {}],
    ['a location of ours', '/nginx-error/404', {}],
    ['a variable of its own', '/error', {}],
    ['an upstream of its own that is down', '/api/v1/stats', {}],
    ['a long field', '/', { headers: { 'x-long': 'x'.repeat(6_000) } }],
    ['a body', '/page.css', { method: 'POST', body: 'x'.repeat(100_000) }],
  ])('answers %s as before', async (_, target, options) => {
    const expected = await askOther(before, target, options);
    expect(expected.fields.server).toMatch(/^nginx\//);
    expect(await askOther(after, target, options)).toEqual(expected);
  });

  test('speaks the versions of HTTP that it spoke, and has its port of HTTP', async () => {
    for (const front of [before, after]) {
      const ca = readFileSync(certificate, 'utf8');
      const socket = await openTls(
        { ...front, ca },
        { servername: OTHER_NAME, ALPNProtocols: ['h2', 'http/1.1'] },
      );
      expect(socket.alpnProtocol).toBe('http/1.1');
      socket.write(`GET /page.css HTTP/1.1\r\nHost: ${OTHER_NAME}\r\nConnection: close\r\n\r\n`);
      expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*color: red/);
    }
    const url = `http://127.0.0.1:${after.httpPort}/page.css`;
    expect(await (await fetch(url)).text()).toContain('color: red');
  });

  test('has its log to itself, and so has the API', async () => {
    await askHttp1(after, '/api/v1/of-the-api');
    await askOther(after, '/page.css?of-the-other-site');
    const logs = after.logs();
    expect(logs['other-site.log']).toContain('of-the-other-site');
    expect(logs['other-site.log']).not.toContain('of-the-api');
    expect(logs['access.log']).toContain('"path":"/api/v1/of-the-api"');
    expect(logs['access.log']).not.toContain('page.css');
  });

  test('and the API beside it speaks HTTP/1.1 where HTTP/2 was not turned on', async () => {
    const socket = await openTls(after, { ALPNProtocols: ['h2', 'http/1.1'] });
    expect(socket.alpnProtocol).toBe('http/1.1');
    socket.destroy();
    const reply = await askHttp1(after, '/api/v1/stats');
    expect([reply.status, reply.text]).toEqual([502, '{"error":"Bad gateway"}']);
  });
});
