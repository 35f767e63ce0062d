/**
 * Opens a remote store for a program that runs for a long time. If the store is not there when the
 * program starts, such as a disk that is not mounted yet, each call tries to open it again.
 */
import { ConfigurationError } from '../../program/environment/environment.ts';
import { TransferError } from '../transfer/try-again.ts';
import { openRemote, type RemoteOptions } from './open-remote.ts';
import type { RemoteStore } from './remote.ts';

/** @throws ConfigurationError if the address or its credentials are wrong */
export function openLater(address: string, options: RemoteOptions): RemoteStore {
  let opened: RemoteStore | undefined;
  let isClosed = false;

  function open(): RemoteStore {
    if (isClosed) throw new Error(`${address} was closed.`);
    try {
      opened ??= openRemote(address, options);
      return opened;
    } catch (cause) {
      if (cause instanceof ConfigurationError) throw cause;
      throw new TransferError((cause as Error).message, { cause });
    }
  }

  try {
    return open();
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
  }
  // Only a folder can be missing, and folders are writable.
  return {
    name: address,
    isWritable: true,
    get: async (path, getOptions) => open().get(path, getOptions),
    put: async (path, content) => open().put(path, content),
    list: async (prefix) => open().list(prefix),
    remove: async (path) => open().remove(path),
    removeUnfinished: async (before) => open().removeUnfinished(before),
    traffic: () => opened?.traffic() ?? { requests: 0, received: 0, sent: 0 },
    close() {
      isClosed = true;
      opened?.close();
    },
  };
}
