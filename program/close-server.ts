/** Closes an HTTP server gracefully: requests under way finish, idle connections close at once. */

const IDLE_CHECK_MS = 100;

export interface ClosableServer {
  close(onClosed: () => void): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/**
 * Stops listening and resolves when every request under way has finished.
 * @param deadlineMs the connections that are still open after this time are cut
 */
export async function closeServer(server: ClosableServer, deadlineMs: number): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), deadlineMs);
  const closed = new Promise<void>((resolve) => server.close(resolve));
  // A connection becomes idle when its last response has been sent.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}
