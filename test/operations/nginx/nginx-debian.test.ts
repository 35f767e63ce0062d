/**
 * The API and the account pages as one site among others in Debian's nginx, with the files in
 * operations/nginx/. The tests of nginx.conf run here too, and the existing site answers as before.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type FrontRequest,
  makeCertificate,
  type NginxForm,
  type NginxSetup,
  openTls,
  type RunningNginx,
  sendHttp1,
  startNginx,
  useNginxForm,
} from '../../support/servers/nginx.ts';
import './nginx.test.ts';
import './nginx-account.test.ts';
import { makeFolder, ROOT, until } from '../../support/product.ts';
import { freePort } from '../../support/servers/ports.ts';
import { readToEnd } from '../../support/servers/sockets.ts';

const OTHER_NAME = 'www.example.org';
const files = makeFolder();
const certificate = path.join(files, 'other.pem');
const certificateKey = path.join(files, 'other-key.pem');

/** /etc/nginx/nginx.conf of Debian 12 without its comments. */
const debianMain = (setup: NginxSetup) => `user www-data;
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
	access_log ${setup.inFolder('other-site.log')};
	gzip on;
	include conf.d/*.conf;
	include sites-enabled/*;
}
`;

/** The existing site, with settings of its own and names that could collide with ours. */
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

const BOTH_SITES: NginxForm = (setup) => ({
  'nginx.conf': debianMain(setup),
  'sites-enabled/default': otherSite(setup),
  'conf.d/cover-catalogue-upstream.conf': ours('upstream'),
  'snippets/cover-catalogue-settings.conf': ours('settings'),
  'snippets/cover-catalogue-locations.conf': ours('locations'),
  'sites-enabled/cover-catalogue': ours('site'),
});

/** Our files are in a folder that this nginx does not include. */
const OTHER_SITE_ALONE: NginxForm = (setup) =>
  Object.fromEntries(
    Object.entries(BOTH_SITES(setup)).map(([name, text]) => [
      name.replace(/^.*\/(?=cover-catalogue)/, 'elsewhere/'),
      text,
    ]),
  );

/** With HTTP/2, as the comment in cover-catalogue-site.conf describes. */
const WITH_HTTP2: NginxForm = (setup) => ({
  ...BOTH_SITES(setup),
  'sites-enabled/cover-catalogue': ours('site').replaceAll(/ ssl;$/gm, ' ssl http2;'),
});

// nginx's worker processes run as another user.
chmodSync(files, 0o755);
await makeCertificate(OTHER_NAME, certificate, certificateKey);
writeFileSync(path.join(files, 'index.html'), `<p>${'hello '.repeat(500)}</p>`);
writeFileSync(path.join(files, 'page.css'), 'p { color: red }');
mkdirSync(path.join(files, 'account'));
writeFileSync(path.join(files, 'account/page.html'), 'its own page');
// For the imported tests.
useNginxForm(WITH_HTTP2);

describe('the existing site', () => {
  let before: RunningNginx;
  let after: RunningNginx;

  beforeAll(async () => {
    // The API is not running here.
    const port = await freePort();
    useNginxForm(OTHER_SITE_ALONE);
    before = await startNginx(port);
    useNginxForm(BOTH_SITES);
    after = await startNginx(port);
  });

  afterAll(async () => {
    await Promise.all([before?.stop(), after?.stop()]);
  });

  const sendToOther = async (
    { httpsPort }: RunningNginx,
    target: string,
    options?: FrontRequest,
  ) => {
    const site = { httpsPort, ca: readFileSync(certificate, 'utf8') };
    const { status, text, headers } = await sendHttp1(site, target, {
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
    ['a path that the API also has', '/account/page.html', {}],
    ['an error of nginx', '/nothing', {}],
    ['a location of ours', '/nginx-error/404', {}],
    ['a variable of its own', '/error', {}],
    ['an upstream of its own that is down', '/api/v1/stats', {}],
    ['a long field', '/', { headers: { 'x-long': 'x'.repeat(6_000) } }],
    ['a body', '/page.css', { method: 'POST', body: 'x'.repeat(100_000) }],
  ])('answers %s as before', async (_, target, options) => {
    const expected = await sendToOther(before, target, options);
    expect(expected.fields.server).toMatch(/^nginx\//);
    expect(await sendToOther(after, target, options)).toEqual(expected);
  });

  test('keeps its versions of HTTP and its HTTP port', async () => {
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

  test('has a log of its own, and so has the API', async () => {
    await sendHttp1(after, '/api/v1/of-the-api');
    await sendToOther(after, '/page.css?of-the-other-site');
    // nginx writes a line once it has sent the response.
    await until(() => after.logs()['other-site.log'].includes('of-the-other-site'));
    await until(() => after.logs()['access.log'].includes('of-the-api'));
    const logs = after.logs();
    expect(logs['other-site.log']).not.toContain('of-the-api');
    expect(logs['access.log']).toContain('"path":"/api/v1/of-the-api"');
    expect(logs['access.log']).not.toContain('page.css');
  });

  test('and the API use HTTP/1.1 if HTTP/2 is not turned on', async () => {
    const socket = await openTls(after, { ALPNProtocols: ['h2', 'http/1.1'] });
    expect(socket.alpnProtocol).toBe('http/1.1');
    socket.destroy();
    const reply = await sendHttp1(after, '/api/v1/stats');
    expect([reply.status, reply.text]).toEqual([502, '{"error":"Bad gateway"}']);
  });
});
