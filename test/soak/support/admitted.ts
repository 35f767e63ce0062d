/** Judges the limit of a key from outside, by when requests were sent and their responses came. */

/** A request that a client has sent. */
export interface Sent {
  readonly status: number;
  /** When it was sent, and when its response was there, in milliseconds. */
  readonly from: number;
  readonly to: number;
}

/** The largest number of requests that certainly were admitted within one minute. */
export function mostInAMinute(sent: readonly Sent[]): number {
  const admitted = sent.filter(({ status }) => status === 200);
  const counts = admitted.map(
    ({ from }) => admitted.filter((each) => each.from >= from && each.to < from + 60_000).length,
  );
  return Math.max(...counts);
}
