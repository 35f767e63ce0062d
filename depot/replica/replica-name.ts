/** Checks REPLICA_NAME, the name under which a replica sends key usage. */
import { isReplicaName } from '../../format/keys-pointer.ts';

/**
 * An empty text is allowed: a name is made for the replica then.
 * @throws Error that says what is allowed and continues the sentence "REPLICA_NAME …"
 */
export function checkReplicaName(text: string): void {
  if (text === '' || isReplicaName(text)) return;
  throw new Error(
    `must have 1 to 100 letters, digits and characters of "._-", and not begin with a dot, not ${JSON.stringify(text)}.`,
  );
}
