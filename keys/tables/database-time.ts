/** Times in the form of the tables: "YYYY-MM-DD HH:MM:SS" in UTC. Their text sorts by time. */

/** @returns the time, rounded down to the second */
export function toDatabaseTime(time: Date): string {
  return time.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length).replace('T', ' ');
}

/** @param time "YYYY-MM-DD HH:MM:SS" in UTC */
export function fromDatabaseTime(time: string): Date {
  return new Date(`${time.replace(' ', 'T')}Z`);
}

export function addSeconds(time: Date, seconds: number): Date {
  return new Date(time.getTime() + seconds * 1000);
}
