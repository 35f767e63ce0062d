/**
 * A remote store: a place outside this machine, or a folder that stands for one, where snapshots are
 * pushed to and pulled from. It holds objects: a path, and bytes. It decides nothing and is not
 * trusted: whoever reads an object checks its bytes.
 *
 * The contract of every implementation:
 *
 * - A path has segments of `A-Z a-z 0-9 . _ ~ -`, joined by `/`; no segment begins with a dot. Other
 *   paths throw an Error at once.
 * - A reader sees an object complete or not at all. Replacing an object is one step. After a crash or a
 *   cut connection, the old object is still there, complete.
 * - A call that follows a finished `put` or `remove` sees its effect, also from another process. Between
 *   a web server and this program there may be caches: a read may be old, but never a mixture.
 * - Nothing is tried again here. TransferError means that another try may help, and `tryAgain` does it.
 *   Any other Error will come again: denied access, a wrong address, a full disk.
 * - All calls may run at the same time. After `close`, calls that are under way fail.
 * - No message, no name and no log contains a password or a key.
 */
export interface RemoteStore {
  /** What messages call the store: its address without credentials. */
  readonly name: string;
  /** Whether `put`, `list`, `remove` and `removeUnfinished` work. Web servers are read-only. */
  readonly isWritable: boolean;

  /**
   * Starts to read an object.
   * @throws TransferError, and when `options.signal` is aborted, its reason
   */
  get(path: string, options?: GetOptions): Promise<RemoteReply>;

  /** Writes an object, or replaces one. Once this returns, a power cut does not lose it. */
  put(path: string, content: Content): Promise<void>;

  /**
   * Lists all objects whose paths begin with a text, such as `files/`, sorted by path (by code units).
   * Unfinished writes are not listed. An empty list if there are none, even if the store is new.
   */
  list(prefix: string): Promise<RemoteObject[]>;

  /** Removes an object. An object that is not there is not an error. */
  remove(path: string): Promise<void>;

  /** Removes what killed writers left unfinished, if it was last written before a time. */
  removeUnfinished(before: Date): Promise<void>;

  /** How much this store has transferred since it was opened. */
  traffic(): Traffic;

  /** Ends all calls that are under way, and releases connections. */
  close(): void;
}

export interface GetOptions {
  /**
   * Where to begin, in bytes: to continue an object that cannot have changed, such as `files/…`. See
   * {@link FoundObject.offset} for where the reply begins. Not together with `etag`.
   */
  readonly offset?: number | undefined;
  /** The `etag` of an earlier reply: if the object still has it, the reply is "unchanged". */
  readonly etag?: string | undefined;
  /** Ends the call, and the reading of its bytes. */
  readonly signal?: AbortSignal | undefined;
}

export type RemoteReply = FoundObject | { readonly status: 'unchanged' | 'missing' };

export interface FoundObject {
  readonly status: 'found';
  /** Differs whenever the content does; undefined if the store has none. Only compared, never read. */
  readonly etag: string | undefined;
  /** The size of the whole object in bytes; undefined if the store does not tell. */
  readonly size: number | undefined;
  /**
   * The position of the first byte: the wanted offset, or 0 if the store starts over. It starts over if
   * it cannot continue, or if the object is not longer than the offset.
   */
  readonly offset: number;
  /**
   * The bytes from there on. They must be read, or ended with `drop`. Ending the loop early also ends the
   * transfer. A shorter object than `size` is a TransferError.
   */
  readonly bytes: AsyncIterable<Buffer>;
  /** Ends the transfer without reading it. May be called at any time, and more than once. */
  drop(): void;
}

export interface RemoteObject {
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** When it was written, by the clock of the store. */
  readonly modifiedAt: Date;
}

/** The content of an object that is to be written. It can be read several times. */
export interface Content {
  /** In bytes. */
  readonly size: number;
  /** The SHA-256 in hex. A store that can check it does so, and then throws a TransferError. */
  readonly sha256: string;
  /** Reads it from its beginning. */
  open(): AsyncIterable<Buffer>;
}

export interface Traffic {
  /** Requests that were sent; for a folder, files that were opened, and folders that were listed. */
  readonly requests: number;
  /** The bytes of bodies, as they were transferred. */
  readonly received: number;
  readonly sent: number;
}
