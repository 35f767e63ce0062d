/**
 * The metrics of `cover-catalogue replica`: the generation that its store offers, and what it has
 * transferred.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Followed } from '../depot/replica/follow-snapshot.ts';

/** @returns a function that counts a check of the store that has succeeded, and how long it took */
export function addReplicaMetrics(
  registry: Registry,
): (followed: Followed, seconds: number) => void {
  const registers = [registry];
  const published = new Gauge({
    name: 'replica_published_timestamp_seconds',
    help: 'When the origin published the generation that the store offers',
    registers,
  });
  const pulls = new Counter({
    name: 'replica_pulls_total',
    help: 'Generations that were pulled and published',
    registers,
  });
  const pullSeconds = new Gauge({
    name: 'replica_pull_seconds',
    help: 'How long the last pull took, with its verification',
    registers,
  });
  const received = new Counter({
    name: 'replica_received_bytes_total',
    help: 'Bytes received for the generations that were pulled',
    registers,
  });
  const files = new Counter({
    name: 'replica_files_total',
    help: 'Files of the generations that were pulled: fetched, or linked because they were there',
    labelNames: ['how'] as const,
    registers,
  });
  for (const how of ['fetched', 'linked']) files.inc({ how }, 0);

  return ({ pointer, pulled, received: bytes }, seconds) => {
    published.set(Date.parse(pointer.published_at) / 1000);
    if (pulled === undefined) return;
    pulls.inc();
    pullSeconds.set(seconds);
    received.inc(bytes);
    files.inc({ how: 'fetched' }, pulled.fetched);
    files.inc({ how: 'linked' }, pulled.linked);
  };
}
