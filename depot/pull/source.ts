/**
 * Where a generation is pulled from, and the errors of a pull. A source delivers bytes and decides
 * nothing: the caller checks every byte against the manifest, and the manifest against its own id.
 */
import type { ManifestFile } from '../../format/manifest.ts';
import type { ErrorWithExitCode } from '../../program/failure.ts';
import { TransferError } from '../transfer/try-again.ts';

export interface Source {
  /** What messages call the source. It never contains a key. */
  readonly name: string;
  /** Whether another call of `manifest` can return a newer generation. */
  readonly canAdvance: boolean;
  /**
   * Reads the manifest of the newest generation.
   * @param known the SHA-256 of the manifest that the caller already has, in hex
   * @returns the bytes of the manifest; undefined if the newest one is the known one
   */
  manifest(known: string | undefined): Promise<Buffer | undefined>;
  /**
   * Starts to read a file of a generation.
   * @throws GoneError if the source no longer has the generation, TransferError if another try may help
   */
  file(id: string, file: ManifestFile, wanted: Wanted): Promise<Delivery>;
  /** How many bytes the source has sent so far. */
  received(): number;
  /** Ends every transfer. */
  close(): void;
}

/** Which bytes of a file are wanted. */
export interface Wanted {
  /** Where to begin. */
  readonly offset: number;
  /** A similar file. The source may use it to send a delta instead of the whole file. */
  readonly similar: SimilarFile | undefined;
}

export interface SimilarFile {
  /** The SHA-256 of its content, in hex. */
  readonly sha256: string;
  readonly content: Buffer;
}

export interface Delivery {
  /** The position of the first byte in the file: the wanted offset, or 0 if the source starts over. */
  readonly offset: number;
  /** Whether the bytes were made from a delta and the similar file. */
  readonly isDelta: boolean;
  /**
   * The bytes of the file from there on. Ends early, without an error, only if the source has no more.
   * @throws TransferError if another try may help; UndecodableError if it may not, and the file should
   * be fetched without the similar one
   */
  readonly bytes: AsyncIterable<Buffer>;
}

/** A body cannot be decoded. */
export class UndecodableError extends TransferError {}

/** The source no longer has the generation. */
export class GoneError extends Error {
  override readonly name = 'GoneError';
}

/** The source offers something that must not be published. */
export class PullRefusedError extends Error implements ErrorWithExitCode {
  override readonly name = 'PullRefusedError';
  readonly exitCode = 3;
}
