/** Which connection is closed to make room for a new one. */
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import {
  countConnections,
  makeConnections,
  mostConnections,
  newConnectionCells,
} from '#lib/program/connections.ts';

/** The members of a socket that the code uses. */
function makeSocket() {
  const socket = { destroyed: false };
  const own = { once: () => own, destroy: () => (socket.destroyed = true) };
  return Object.assign(socket, own) as unknown as Socket;
}

/** Opens two connections with a limit of two. */
function openTwo() {
  const cells = newConnectionCells(2);
  const connections = makeConnections(cells, pino({ level: 'silent' }));
  const [first, second] = [makeSocket(), makeSocket()];
  for (const socket of [first, second]) connections.take(socket);
  /** Opens a third connection. @returns which of the three are closed */
  const takeOneMore = () => {
    const third = makeSocket();
    connections.take(third);
    return [first, second, third].map(({ destroyed }) => destroyed);
  };
  return { first, second, cells, connections, takeOneMore };
}

test('the one that has been idle for the longest time is closed', () => {
  expect(openTwo().takeOneMore()).toEqual([true, false, false]);
  const { first, connections, takeOneMore, cells } = openTwo();
  connections.use(first);
  connections.release(first);
  expect(takeOneMore()).toEqual([false, true, false]);
  expect(countConnections([cells, cells])).toMatchObject({ closed: 2, refused: 0, limit: 4 });
});

test('one with a request under way stays; if both have one, the new connection is refused', () => {
  const { first, second, cells, connections, takeOneMore } = openTwo();
  connections.use(first);
  connections.use(second);
  expect(takeOneMore()).toEqual([false, false, true]);
  expect(countConnections([cells])).toEqual({ open: 2, closed: 0, refused: 1, limit: 2 });
  connections.release(second);
  expect(takeOneMore()).toEqual([false, true, false]);
});

test('one that is closed while its request is answered is not idle afterwards', () => {
  const { first, second, connections, takeOneMore } = openTwo();
  connections.use(first);
  connections.use(second);
  first.destroy();
  connections.release(first);
  expect(takeOneMore()).toEqual([true, false, true]);
});

test('connections take at most half of the open files, and never more than 16,384', () => {
  expect(mostConnections(1_024)).toBe(512);
  expect(mostConnections(1e9)).toBe(16_384);
});
