/**
 * A remote store behind a static web server, such as nginx: read-only, for replicas. Nothing is expected
 * of the server but GET; it may support ranges and ETags.
 */
import { type HttpClient, makeHttpClient } from '../transfer/http-client.ts';
import { readObject } from './http-objects.ts';
import { checkObjectPath } from './object-path.ts';
import type { RemoteStore, Traffic } from './remote.ts';

/** @param address without a slash at its end */
export function openWebStore(address: string, stallSeconds: number): RemoteStore {
  const client = makeHttpClient(address.startsWith('https:'), stallSeconds);
  const closed = new AbortController();
  const refuse = async () => {
    throw new Error(
      `${address} is a web server, which can only be read. Name the folder that it serves, or an s3:// address.`,
    );
  };
  return {
    name: address,
    isWritable: false,
    async get(path, options = {}) {
      checkObjectPath(path);
      const url = `${address}/${path}`;
      const signal = AbortSignal.any([closed.signal, options.signal ?? closed.signal]);
      return readObject(url, options, (headers) => client.send(url, headers, { signal }));
    },
    put: refuse,
    list: refuse,
    remove: refuse,
    removeUnfinished: refuse,
    traffic: () => trafficOf(client),
    close() {
      closed.abort(new Error(`${address} was closed.`));
      client.close();
    },
  };
}

export function trafficOf(client: HttpClient): Traffic {
  return { requests: client.requests(), received: client.received(), sent: client.sent() };
}
