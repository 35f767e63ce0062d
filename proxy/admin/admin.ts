/**
 * The admin server: health, readiness and metrics. It listens on an address of its own, since clients
 * of the API must not see them.
 */
import { createServer, type Server } from 'node:http';
import {
  allowConnections,
  isResponding,
  makeConnections,
  newConnectionCells,
} from '../../program/connections.ts';
import { readReplicaState } from '../../store/replica/state-file.ts';
import type { KeyStore } from '../keys/key-store.ts';
import type { Snapshots } from '../snapshot/snapshots.ts';
import { ADMIN_CONNECTIONS } from './connection-limit.ts';
import type { LimitState } from './limit-state.ts';
import type { Metrics, Readings } from './metrics.ts';
import { healthOf, readDataTime, readHeld, secondsSince } from './publishing-state.ts';

export interface AdminParts {
  readonly snapshotsDir: string;
  readonly snapshots: Snapshots;
  readonly keys: KeyStore;
  readonly metrics: Metrics;
  /** The state of the shared limits; undefined if the limits are those of this process. */
  readonly limitState: () => LimitState | undefined;
  /** The seconds for `Retry-After` during maintenance, otherwise 0. */
  readonly maintenance: () => number;
  readonly isStopping: () => boolean;
  /** For each file that the proxy cannot read or write at the moment, a message that says why. */
  readonly faults: () => readonly string[];
}

export function makeAdminServer(parts: AdminParts): Server {
  const { snapshots, keys, metrics } = parts;

  async function read(): Promise<Readings> {
    const current = snapshots.current();
    const replica = readReplicaState(parts.snapshotsDir);
    const dataTime = current && (await readDataTime(parts.snapshotsDir, current.id, replica));
    const confirmedAt = keys.confirmedAt();
    return {
      snapshot:
        current === undefined
          ? undefined
          : {
              id: current.id,
              games: current.manifest.counts.games,
              covers: current.manifest.counts.covers,
            },
      otherGenerations: snapshots.store.opened().filter(({ id }) => id !== current?.id).length,
      isRefusing: snapshots.refusal() !== undefined,
      held: await readHeld(parts.snapshotsDir),
      dataAge: dataTime === undefined ? undefined : secondsSince(dataTime),
      keys: keys.size(),
      keysAge: confirmedAt === undefined ? undefined : secondsSince(confirmedAt),
      replica: healthOf(replica),
      isMaintenance: parts.maintenance() > 0,
    };
  }

  /**
   * Ready means: a generation and the keys are in memory, the proxy is not stopping, and it does not
   * refuse all requests, because of maintenance or because the store of the limits cannot be asked.
   */
  async function readiness() {
    const { snapshot, held, keys: known, dataAge, keysAge, replica } = await read();
    const refusal = snapshots.refusal();
    const limits = parts.limitState();
    const hasData = snapshot !== undefined && known !== undefined;
    const seconds = parts.maintenance();
    const isReady = hasData && limits?.mode !== 'refuse' && seconds === 0 && !parts.isStopping();
    return {
      ready: isReady,
      stopping: parts.isStopping(),
      maintenance: seconds === 0 ? null : { retry_after_seconds: seconds },
      snapshot: snapshot?.id ?? null,
      snapshot_age_seconds: dataAge ?? null,
      refused: refusal === undefined ? null : { id: refusal.id, error: refusal.error.message },
      held: held ?? null,
      keys: known ?? null,
      keys_error: keys.fault() ?? null,
      keys_age_seconds: keysAge ?? null,
      replica,
      limits:
        limits === undefined
          ? null
          : { mode: limits.mode, proxies: limits.proxies, error: limits.fault ?? null },
      faults: parts.faults(),
    };
  }

  async function respond(target: string): Promise<{ status: number; type: string; body: string }> {
    const json = (status: number, value: unknown) => ({
      status,
      type: 'application/json; charset=utf-8',
      body: `${JSON.stringify(value)}\n`,
    });
    switch (target.split('?', 1)[0]) {
      case '/healthz':
        return json(200, { healthy: true });
      case '/readyz': {
        const state = await readiness();
        return json(state.ready ? 200 : 503, state);
      }
      case '/metrics': {
        const { body, contentType } = await metrics.expose(read);
        return { status: 200, type: contentType, body };
      }
      default:
        return json(404, { error: 'Not found' });
    }
  }

  const cells = newConnectionCells();
  allowConnections(cells, ADMIN_CONNECTIONS, 0);
  const connections = makeConnections(cells, isResponding, () => performance.now());
  const times = { headersTimeout: 10_000, requestTimeout: 15_000 };
  const server = createServer(times, (request, response) => {
    connections.noteUse(request.socket);
    request.resume();
    respond(request.url ?? '')
      .catch((error: Error) => ({ status: 500, type: 'text/plain', body: `${error.message}\n` }))
      .then(({ status, type, body }) => {
        response.writeHead(status, {
          'Content-Type': type,
          'Content-Length': Buffer.byteLength(body),
          'Cache-Control': 'no-store',
        });
        response.end(body);
      });
  });
  // At the limit, connections that are idle or never finish a request are closed for new ones.
  server.on('connection', (socket) => connections.take(socket));
  return server;
}
