/** Closes an HTTP server: requests under way can finish, and idle connections are closed. */

const IDLE_CHECK_MS = 100;

export interface ClosableServer {
  close(onClosed: () => void): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/**
 * Stops listening. Resolves when all connections are closed.
 * @param deadlineMs after this time, connections that are still open are cut
 */
export async function closeServer(server: ClosableServer, deadlineMs: number): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), deadlineMs);
  const closed = new Promise<void>((resolve) => server.close(resolve));
  // Repeated, because a busy connection becomes idle when its response has been sent.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}
