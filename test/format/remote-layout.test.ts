/** The paths in a remote store, and the list of the objects of a generation. */
import { expect, test } from 'vitest';
import {
  encodeObjectList,
  idOfRemoteManifest,
  type ObjectList,
  parseObjectList,
  remoteManifest,
} from '../../format/remote-layout.ts';

const [A, B] = ['a'.repeat(64), 'b'.repeat(64)];
const LIST: ObjectList = {
  format_version: 1,
  files: [{ sha256: A, stored_size: 12 }],
  differences: [{ from: A, to: B, stored_size: 3 }],
};

test('the path of a manifest gives its id, and no other path does', () => {
  const id = '000002-2894d4cb1edd';
  expect(idOfRemoteManifest(remoteManifest(id))).toBe(id);
  for (const name of [
    'generations/x/manifest.json',
    `generations/${id}/objects.json`,
    `files/${A}.zst`,
    '',
    `generations/${id}/x/manifest.json`,
    `other/${id}/manifest.json`,
  ]) {
    expect(idOfRemoteManifest(name)).toBeUndefined();
  }
});

test('a list of objects is read as it was written, and refused if it is damaged', () => {
  expect(parseObjectList(encodeObjectList(LIST))).toEqual(LIST);
  for (const change of [
    { format_version: 2 },
    { files: undefined },
    { files: [{ sha256: '../x', stored_size: 1 }] },
    { files: [{ sha256: A, stored_size: -1 }] },
    { differences: [{ from: A, stored_size: 1 }] },
    { differences: {} },
  ]) {
    expect(() => parseObjectList(JSON.stringify({ ...LIST, ...change }))).toThrow(/damaged/);
  }
  expect(() => parseObjectList('{')).toThrow(/not JSON/);
});
