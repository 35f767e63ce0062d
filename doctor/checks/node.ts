/** The version of Node, and whether it sorts titles as the current generation was sorted. */
import { findOtherCollation } from '../../format/manifest.ts';
import { currentId, generationDir, readManifest } from '../../generations/generations.ts';
import { type Check, requireValue } from '../findings/check.ts';

export const node: Check = {
  name: 'node',
  programs: ['schedule', 'proxy', 'account', 'replica'],
  async run(scene, { ok, warn }) {
    const { icu, unicode } = process.versions;
    ok(`Node ${process.versions.node}, ICU ${icu}, Unicode ${unicode}: ${process.execPath}`);
    const snapshotsDir = requireValue(scene, 'SNAPSHOTS_DIR');
    const other = otherCollationOf(snapshotsDir);
    if (other !== undefined) {
      warn(
        other,
        'Start every program with the same cover-catalogue, then run "cover-catalogue generate".',
      );
    }
  },
};

/** A warning if the current generation was sorted with other versions than this Node has. */
function otherCollationOf(snapshotsDir: string): string | undefined {
  try {
    const id = currentId(snapshotsDir);
    return id && findOtherCollation(readManifest(generationDir(snapshotsDir, id)));
  } catch {
    // The check of the snapshots folder reports a generation that cannot be read.
    return undefined;
  }
}
