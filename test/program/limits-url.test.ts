/** The forms of LIMITS_URL. */
import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../../program/environment/environment.ts';

const read = (LIMITS_URL: string) => readEnvironment(['LIMITS_URL'], { LIMITS_URL }).LIMITS_URL;

test('LIMITS_URL is empty by default', () => {
  expect(read('')).toBe(undefined);
});

describe('LIMITS_URL accepts', () => {
  test.each([
    ['redis://localhost', { host: 'localhost', port: 6379, db: 0 }],
    ['redis://[::1]:7000/', { host: '::1', port: 7000, db: 0 }],
    [
      'redis://:p%40ss%2F@10.0.0.1:6380/2',
      { host: '10.0.0.1', port: 6380, db: 2, password: 'p@ss/' },
    ],
    [
      'rediss://me:secret@r.example.org',
      {
        host: 'r.example.org',
        port: 6379,
        db: 0,
        username: 'me',
        password: 'secret',
        tls: { servername: 'r.example.org' },
      },
    ],
    [
      'redis+sentinel://:secret@one,two:26380/main/1?sentinelPassword=other%26',
      {
        sentinels: [
          { host: 'one', port: 26379 },
          { host: 'two', port: 26380 },
        ],
        name: 'main',
        db: 1,
        password: 'secret',
        sentinelPassword: 'other&',
      },
    ],
    [
      'rediss+sentinel://one/main',
      {
        sentinels: [{ host: 'one', port: 26379 }],
        name: 'main',
        db: 0,
        tls: {},
        enableTLSForSentinelMode: true,
        sentinelTLS: {},
      },
    ],
  ])('%s', (text, expected) => {
    expect(read(text)).toEqual(expected);
  });
});

describe('LIMITS_URL refuses, without quoting it,', () => {
  test.each([
    'localhost:6379',
    'http://:secret@h',
    'redis://',
    'redis://h1,h2',
    'redis://h:0',
    'redis://h:70000',
    'redis://h/name',
    'redis://h/1/2',
    'redis://:se#cret@h',
    'redis://:se/cret@h',
    'redis://:secret%@h',
    'redis://h?sentinelPassword=secret',
    'redis+sentinel://h',
    'redis+sentinel://h/main?password=secret',
    'valkey://:secret@h',
  ])('%s', (text) => {
    expect(() => read(text)).toThrow(/^LIMITS_URL must be redis:\/\/user:password@host/);
    expect(() => read(text)).not.toThrow(/cret/);
  });
});
