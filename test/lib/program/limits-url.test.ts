/** The forms of LIMITS_URL. */
import { describe, expect, test } from 'vitest';
import { readEnvironment } from '#lib/program/environment/environment.ts';

const read = (LIMITS_URL: string) => readEnvironment(['LIMITS_URL'], { LIMITS_URL }).LIMITS_URL;

test('LIMITS_URL is empty by default', () => {
  expect(read('')).toBe(undefined);
});

const node = (host: string, port: number) => ({ host, port });

test.each([
  ['redis://localhost', { ...node('localhost', 6379), db: 0 }],
  ['redis://[::1]:7000/', { ...node('::1', 7000), db: 0 }],
  ['redis://:p%40ss%2F@10.0.0.1:6380/2', { ...node('10.0.0.1', 6380), db: 2, password: 'p@ss/' }],
  [
    'rediss://me:secret@r.example.org',
    {
      ...{ ...node('r.example.org', 6379), db: 0, username: 'me', password: 'secret' },
      tls: { servername: 'r.example.org' },
    },
  ],
  [
    'redis+sentinel://:secret@one,two:26380/main/1?sentinelPassword=other%26',
    {
      sentinels: [node('one', 26379), node('two', 26380)],
      ...{ name: 'main', db: 1, password: 'secret', sentinelPassword: 'other&' },
    },
  ],
  [
    'rediss+sentinel://one/main',
    {
      ...{ sentinels: [node('one', 26379)], name: 'main', db: 0 },
      ...{ tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} },
    },
  ],
])('LIMITS_URL accepts %s', (text, expected) => {
  expect(read(text)).toEqual(expected);
});

describe('LIMITS_URL refuses, without quoting it,', () => {
  test.each([
    'localhost:6379',
    'http://:secret@h',
    'redis://',
    'redis://h1,h2',
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
