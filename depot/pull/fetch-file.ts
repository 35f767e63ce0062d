/**
 * Fetches one file of a generation into the staging folder. A transfer that is cut off continues where
 * it ended. Invariant: no more bytes are accepted than the manifest announces, and a file with another
 * SHA-256 than in the manifest never becomes a staged file.
 */
import type { ManifestFile } from '../../format/manifest.ts';
import type { Clock } from '../transfer/clock.ts';
import { tryAgain } from '../transfer/try-again.ts';
import { PullRefusedError, type SimilarFile, type Source, UndecodableError } from './source.ts';
import type { Staging } from './staging.ts';

export interface FetchOptions {
  readonly source: Source;
  /** The id of the generation. */
  readonly id: string;
  readonly staging: Staging;
  /** Finds a file that may be similar; undefined if there is none. */
  readonly findSimilar: (file: ManifestFile) => SimilarFile | undefined;
  /** Called when the number of bytes that are staged of the file has changed. */
  readonly onPosition: (position: number) => void;
  readonly clock: Clock;
}

/**
 * @throws PullRefusedError if the source has another file than the manifest says, GoneError if it no
 * longer has the generation, or another Error that names the file
 */
export async function fetchFile(file: ManifestFile, options: FetchOptions): Promise<void> {
  const partSize = () => options.staging.partSize(file);
  // A part of an earlier run or a delta can be damaged. The file is then fetched once more, from scratch.
  let isFromScratch = false;
  for (;;) {
    const isComplete = await tryAgain(
      file.path,
      () => transfer(file, options, isFromScratch),
      partSize,
      options.clock,
    );
    if (isComplete) return;
    isFromScratch = true;
  }
}

/**
 * @param isFromScratch whether to ignore what could make the file wrong: parts and similar files
 * @returns whether the file is complete; false if it must be fetched from scratch
 */
async function transfer(
  file: ManifestFile,
  { source, id, staging, findSimilar, onPosition }: FetchOptions,
  isFromScratch: boolean,
): Promise<boolean> {
  if (staging.partSize(file) > file.size) staging.dropPart(file);
  const wanted = staging.partSize(file);
  const similar = isFromScratch || wanted > 0 ? undefined : findSimilar(file);
  const { offset, isDelta, bytes } =
    wanted === file.size && wanted > 0
      ? { offset: wanted, isDelta: false, bytes: nothing() }
      : await source.file(id, file, { offset: wanted, similar });
  const staged = staging.open(file, offset, isDelta);
  let position = offset;
  onPosition(position);
  try {
    for await (const piece of bytes) {
      if (position + piece.length > file.size) {
        const fault = `${source.name} sends more than the ${file.size} bytes in the manifest`;
        throw isDelta ? new UndecodableError(fault) : refusal(file, fault);
      }
      staged.write(piece);
      position += piece.length;
      onPosition(position);
    }
  } catch (error) {
    staged.leave();
    if (isDelta && error instanceof UndecodableError) return false;
    throw error;
  }
  const sha256 = await staged.finish();
  if (sha256 === file.sha256) return true;
  if (isDelta || wanted > 0) return false;
  const size = position === file.size ? '' : ` (${position} bytes instead of ${file.size})`;
  throw refusal(
    file,
    `its SHA-256 at ${source.name} is ${sha256}${size}, but the manifest says ${file.sha256}`,
  );
}

async function* nothing(): AsyncGenerator<Buffer> {}

function refusal({ path: name }: ManifestFile, fault: string): PullRefusedError {
  return new PullRefusedError(`${name}: ${fault}. Nothing is published.`);
}
