/** Which connection is closed to make room for a new one. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import {
  countConnections,
  isAnswering,
  makeConnections,
  mostConnections,
  newConnectionCells,
} from '../../program/connections.ts';

/** The members of a socket that the code uses. */
function makeSocket(writableLength = 0) {
  const socket = { writableLength, isClosed: false };
  const own = { once: () => own, destroy: () => (socket.isClosed = true) };
  return Object.assign(socket, own) as unknown as Socket & typeof socket;
}

/** Opens two connections with a limit of two. */
function openTwo(first = makeSocket(), second = makeSocket()) {
  const cells = newConnectionCells(2);
  const busy = new Set<Socket>();
  const log = pino({ level: 'silent' });
  const connections = makeConnections(cells, log, (socket) => busy.has(socket));
  for (const socket of [first, second]) connections.take(socket);
  /** Opens a third connection. @returns which of the three are closed */
  const takeOneMore = () => {
    const third = makeSocket();
    connections.take(third);
    return [first, second, third].map(({ isClosed }) => isClosed);
  };
  return { first, second, cells, busy, connections, takeOneMore };
}

test('the less recently used one is closed', () => {
  expect(openTwo().takeOneMore()).toEqual([true, false, false]);
  const { first, connections, takeOneMore, cells } = openTwo();
  connections.noteUse(first);
  expect(takeOneMore()).toEqual([false, true, false]);
  expect(countConnections([cells, cells])).toEqual({ open: 4, closed: 2, refused: 0, limit: 4 });
});

test('a busy one stays; if both are busy, the new connection is refused', () => {
  const { first, second, busy, cells, takeOneMore } = openTwo();
  busy.add(first).add(second);
  expect(takeOneMore()).toEqual([false, false, true]);
  expect(countConnections([cells])).toEqual({ open: 2, closed: 0, refused: 1, limit: 2 });
  busy.delete(second);
  expect(takeOneMore()).toEqual([false, true, false]);
});

test('one is busy from the end of its request to the end of its response', () => {
  const isBusyWith = (complete: boolean, writableFinished: boolean) =>
    isAnswering({ req: { complete }, writableFinished } as ServerResponse);
  expect(isAnswering(undefined)).toBe(false);
  expect([isBusyWith(false, false), isBusyWith(true, false), isBusyWith(true, true)]).toEqual([
    ...[false, true, false],
  ]);
});

test('one whose client does not read its response is closed only if none is idle', () => {
  expect(openTwo(makeSocket(100)).takeOneMore()).toEqual([false, true, false]);
  expect(openTwo(makeSocket(100), makeSocket(100)).takeOneMore()).toEqual([true, false, false]);
});

test('connections take at most half of the open files, and never more than 16,384', () => {
  expect(mostConnections(1_024)).toBe(512);
  expect(mostConnections(Number.POSITIVE_INFINITY)).toBe(16_384);
});
