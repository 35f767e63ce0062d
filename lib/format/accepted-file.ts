/**
 * `accepted-snapshot.json` and `accepted-keys.json`: the newest releases of a kind that a replica has accepted, by
 * the key that signed each. The replica never accepts older ones, so even somebody who controls a depot, or the
 * way to it, cannot bring back an old generation or a revoked key. If a file is damaged, the replica accepts nothing
 * of that kind until an operator removes the file.
 */

import { jsonFile } from './json/parse-file.ts';
import {
  isSequence,
  isSha256,
  isString,
  listOf,
  type Members,
  orNull,
  withMembers,
} from './json/values.ts';
import { acceptedName } from './layout.ts';
import type { ReleaseKind } from './release.ts';

const RELEASE = {
  /** The SHA-256 of the public key (SPKI, DER) that confirmed the signature; null if no signature was required. */
  signer: orNull(isSha256),
  /** The address of the depot that it came from. */
  from: isString,
  id: isString,
  sequence: isSequence,
  sha256: isSha256,
};
const SHAPE = {
  /** One for each signer, and for each address from which a release came without a confirmed signature. */
  releases: listOf(withMembers(RELEASE)),
};

export type AcceptedRelease = Members<typeof RELEASE>;

export const acceptedFile = (kind: ReleaseKind) => jsonFile(acceptedName(kind), 3, SHAPE);
