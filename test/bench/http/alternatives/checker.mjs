/** The key checker for nginx's auth_request: plain node:http on a Unix socket, no body, no date. */
import { createServer } from 'node:http';
import { admit, findKey, secondsLeft } from './key-check.mjs';

const server = createServer(
  { keepAliveTimeout: 600_000, optimizeEmptyRequests: true },
  (request, response) => {
    response.sendDate = false;
    const record = findKey(request.headers['x-api-key']);
    if (record === undefined) {
      response.writeHead(401).end();
      return;
    }
    if (!admit(record)) {
      response.writeHead(403).end();
      return;
    }
    response
      .writeHead(204, [
        'X-RateLimit-Limit',
        String(record.limit),
        'X-RateLimit-Remaining',
        String(record.limit - record.count),
        'X-RateLimit-Reset',
        String(secondsLeft(record)),
      ])
      .end();
  },
);
server.listen(process.env.BENCH_SOCKET, () => {
  // The benchmark waits for a port; nginx uses the socket.
  createServer().listen(Number(process.env.PORT), '127.0.0.1');
});
