/** Which connection of a thread is closed to make room for a new one. */
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import {
  allowConnections,
  countConnections,
  makeConnections,
  newConnectionCells,
} from '../../../program/connections.ts';

describe('of two connections', () => {
  /** The members of a socket that the code uses. */
  function makeSocket(unsent = 0) {
    const socket = { bytesWritten: 1_000, writableLength: unsent, isClosed: false };
    const own = { once: () => own, destroy: () => (socket.isClosed = true) };
    return Object.assign(socket, own) as unknown as Socket & typeof socket;
  }

  /** Opens two connections with a limit of two. */
  function openTwo(first = makeSocket(), second = makeSocket()) {
    const clock = { now: 1e6 };
    const cells = newConnectionCells();
    allowConnections(cells, 2, 0);
    const answering = new Set<Socket>();
    const connections = makeConnections(
      cells,
      (socket) => answering.has(socket),
      () => clock.now,
    );
    const uses = [first, second].map((socket) => connections.take(socket));
    /** Opens a third connection. @returns which of the three are closed */
    const takeOneMore = () => {
      const third = makeSocket();
      connections.take(third);
      return [first, second, third].map(({ isClosed }) => isClosed);
    };
    return { first, second, clock, cells, answering, connections, uses, takeOneMore };
  }

  test('the less recently used one is closed', () => {
    expect(openTwo().takeOneMore()).toEqual([true, false, false]);
    const { uses, takeOneMore, cells } = openTwo();
    uses[0]?.();
    expect(takeOneMore()).toEqual([false, true, false]);
    expect(countConnections([cells, cells])).toEqual({ open: 4, closed: 2, refused: 0 });
    const other = openTwo();
    other.connections.noteUse(other.first);
    expect(other.takeOneMore()).toEqual([false, true, false]);
  });

  test('one with a request under way stays; if both have one, the new connection is refused', () => {
    const { first, second, answering, takeOneMore, cells } = openTwo();
    answering.add(first);
    expect(takeOneMore()).toEqual([false, true, false]);
    const both = openTwo();
    both.answering.add(both.first).add(both.second);
    expect(both.takeOneMore()).toEqual([false, false, true]);
    expect(countConnections([both.cells])).toEqual({ open: 2, closed: 0, refused: 1 });
    expect([second.isClosed, countConnections([cells]).refused]).toEqual([true, 0]);
  });

  test('one whose client still reads its response stays, until it has read nothing for 3 s', () => {
    const { first, second, clock, takeOneMore } = openTwo(makeSocket(100), makeSocket(100));
    expect(takeOneMore()).toEqual([false, false, true]);
    for (let i = 0; i < 5; i++) {
      clock.now += 2_900;
      for (const socket of [first, second]) socket.writableLength -= 10;
      expect(takeOneMore()).toEqual([false, false, true]);
    }
    clock.now += 2_900;
    second.writableLength -= 10;
    expect(takeOneMore()).toEqual([false, false, true]);
    clock.now += 100;
    expect(takeOneMore()).toEqual([true, false, false]);
  });

  test('only as many as necessary are closed if the limit falls', () => {
    const { first, second, cells, connections } = openTwo();
    connections.trim();
    expect([first.isClosed, second.isClosed]).toEqual([false, false]);
    allowConnections(cells, 1, 0);
    connections.trim();
    expect([first.isClosed, second.isClosed]).toEqual([true, false]);
  });
});
