/**
 * The control for delays: a server that only sends one fixed body. If its responses are late, the
 * machine itself was busy.
 */
import { createServer } from 'node:http';

const BODY = '{}';

createServer((_, response) => {
  response.writeHead(200, { 'content-length': BODY.length }).end(BODY);
}).listen(Number(process.env.PORT), '127.0.0.1');
