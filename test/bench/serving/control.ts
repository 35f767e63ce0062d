/**
 * The yardstick of delays: a server with nothing to do but send one fixed body. Where its answers
 * are late, the machine had no time for anybody.
 */
import { createServer } from 'node:http';

const BODY = '{}';

createServer((_, response) => {
  response.writeHead(200, { 'content-length': BODY.length }).end(BODY);
}).listen(Number(process.env.PORT), '127.0.0.1');
