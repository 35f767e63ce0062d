/** express with express-rate-limit and serve-static, with the same files as nginx. */
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import serveStatic from 'serve-static';
import { findKey } from './key-check.mjs';

const app = express();
app.disable('x-powered-by');
app.use((request, response, next) => {
  if (findKey(request.headers['x-api-key']) === undefined) {
    response.status(401).set('WWW-Authenticate', 'Bearer').json({ error: 'Missing API key' });
  } else next();
});
app.use(
  rateLimit({
    windowMs: 60_000,
    limit: 100_000_000,
    legacyHeaders: true,
    standardHeaders: false,
    keyGenerator: (request) => request.headers['x-api-key'],
    validate: false,
  }),
);
app.use(
  serveStatic(process.env.BENCH_FILES, {
    index: false,
    redirect: false,
    cacheControl: false,
    setHeaders: (response) => response.setHeader('Content-Type', 'application/json; charset=utf-8'),
  }),
);
app.listen(Number(process.env.PORT), '127.0.0.1');
