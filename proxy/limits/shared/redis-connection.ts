/**
 * The connection of one serving thread to Redis or Valkey, through ioredis. It keeps connecting until
 * it is closed. Invariant: a command is sent at most once. ioredis would by default keep commands
 * while there is no connection, and repeat those that were under way, possibly on another server.
 */
import { isIP } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import type { LimitsAddress } from '../../../program/environment/limits-url.ts';
import type { StoreConnection } from './connection.ts';
import { SCRIPTS } from './scripts.ts';

const CONNECT_TIMEOUT_MS = 1_000;
const LONGEST_PAUSE_MS = 1_000;

/** @param onChange called whenever the server or the fault may be another */
export function connectToRedis(address: LimitsAddress, onChange = () => {}): StoreConnection {
  const redis = new Redis(optionsFor(address));
  let server: string | undefined;
  let fault: string | undefined = 'not connected yet';
  let warning: string | undefined;

  redis.on('ready', async () => {
    try {
      const info = await redis.info();
      const field = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
      warning = dangerOf(field('maxmemory'), field('maxmemory_policy'));
      server = field('run_id');
      fault = server === undefined ? 'the server does not report its run_id' : undefined;
    } catch (error) {
      fault = (error as Error).message;
    }
    onChange();
  });
  redis.on('close', () => {
    server = undefined;
    fault ??= 'the connection was closed';
    onChange();
  });
  // Without a listener, ioredis writes errors to stderr.
  redis.on('error', (error: Error) => {
    fault = messageOf(error);
    onChange();
  });

  return {
    server: () => server,
    fault: () => fault ?? warning,
    async run(name, keys, args) {
      if (server === undefined) throw new Error(fault ?? 'not connected');
      const { sha, lua } = SCRIPTS[name];
      try {
        return (await redis.evalsha(sha, keys.length, ...keys, ...args)) as unknown[];
      } catch (error) {
        if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
        return (await redis.eval(lua, keys.length, ...keys, ...args)) as unknown[];
      }
    },
    reset() {
      server = undefined;
      redis.disconnect(true);
    },
    close: () => redis.disconnect(),
  };
}

function optionsFor(address: LimitsAddress): Omit<RedisOptions, 'replyMapping'> {
  const { tls, ...rest } = address;
  // An IP address is not a server name (RFC 6066, section 3).
  const isNamed = tls?.servername !== undefined && isIP(tls.servername) === 0;
  const pause = (times: number) => Math.min(LONGEST_PAUSE_MS, 25 * 2 ** Math.min(times, 10));
  return {
    ...rest,
    ...(tls === undefined ? {} : { tls: isNamed ? { servername: tls.servername } : {} }),
    // The scripts return lists of numbers and texts, so the newer protocol would only cost time.
    protocol: 2,
    connectionName: 'cover-catalogue-limits',
    connectTimeout: CONNECT_TIMEOUT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: pause,
    sentinelRetryStrategy: pause,
    // A server that is no longer the primary: Sentinel knows the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}

/** Why the server may forget windows without anybody noticing; undefined if it does not. */
function dangerOf(maxmemory = '0', policy = 'noeviction'): string | undefined {
  if (maxmemory === '0' || policy === 'noeviction') return undefined;
  return `maxmemory-policy is ${policy}: the server may remove limits that still count; set it to noeviction`;
}

function messageOf(error: Error): string {
  // Node gives several errors, one for each address of a host name, an empty message.
  const [first] = error instanceof AggregateError ? error.errors : [];
  return error.message || (first instanceof Error ? first.message : String(error));
}
