/** Serves the images of a demo, as the web server of a site would. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * @param images PNG files by their paths, without the slash at the start
 * @returns the port, which the system chose
 */
export function serveImages(images: ReadonlyMap<string, Buffer>, host: string): Promise<number> {
  const server = createServer(({ method, url = '' }, response) => {
    const image = images.get(url.slice(1));
    if (image === undefined || (method !== 'GET' && method !== 'HEAD')) {
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end('Not found\n');
      return;
    }
    response.writeHead(200, {
      'Content-Type': 'image/png',
      'Content-Length': image.length,
      'Cache-Control': 'max-age=3600',
      'X-Content-Type-Options': 'nosniff',
    });
    response.end(method === 'HEAD' ? undefined : image);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
