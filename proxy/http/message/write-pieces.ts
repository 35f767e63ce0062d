/**
 * Writes a body piece by piece. Invariant: at most one piece is in memory, and a client that does not
 * take it in time loses its connection.
 */
import type { Socket } from 'node:net';

export interface PieceWriter {
  readonly socket: Socket;
  /** @param onTaken called once the kernel has taken the piece, or the write has failed */
  write(piece: Buffer, onTaken: (error?: Error | null) => void): void;
  /** How long a client may take to read a piece, in milliseconds. */
  readonly longestMs: number;
}

/**
 * @returns whether all pieces were written; if not, the connection is closed
 * @throws the error of a piece; the connection is then closed, so that the body looks incomplete
 */
export async function writePieces(
  pieces: AsyncIterable<Buffer>,
  writer: PieceWriter,
): Promise<boolean> {
  try {
    for await (const piece of pieces) {
      if (!(await writePiece(piece, writer))) return false;
    }
    return !writer.socket.destroyed;
  } catch (error) {
    writer.socket.destroy();
    throw error;
  }
}

function writePiece(piece: Buffer, { socket, write, longestMs }: PieceWriter): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isTaken: boolean) => {
      clearTimeout(timer);
      socket.off('close', onClose);
      resolve(isTaken);
    };
    const onClose = () => end(false);
    // "close" follows.
    const timer = setTimeout(() => socket.destroy(), longestMs).unref();
    if (socket.destroyed) return end(false);
    socket.once('close', onClose);
    write(piece, (error) => end(error === undefined || error === null));
  });
}
