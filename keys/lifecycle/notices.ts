/** The mail that no action causes: the list of waiting requests for moderators. It is queued once. */
import type { Database } from '../../database/database.ts';
import { dayOf } from '../../format/key-usage.ts';
import { digestMail } from '../mail/mail-texts.ts';
import { isMailAddress } from '../mail/mailer.ts';
import { enqueueMail } from '../mail/outbox.ts';
import { hasAccounts, listModerators } from '../tables/accounts.ts';
import { addSeconds, fromDatabaseTime } from '../tables/database-time.ts';
import { claimNotice, removeOldNotices, wasSentToday } from '../tables/sent-notices.ts';
import { pendingRequests } from './key-lists.ts';

/** How long a request waits before a mail tells moderators: they may be reviewing already. */
const DIGEST_DELAY_SECONDS = 300;

export interface Notices {
  readonly at: Date;
  /** The address of the pages, without a slash at the end. */
  readonly publicUrl: string;
}

/** Queues the mails that are due. */
export async function queueNotices(database: Database, notices: Notices): Promise<void> {
  if (!(await hasAccounts(database))) return;
  await queueDigest(database, notices);
  await removeOldNotices(database, notices.at);
}

/** Sends moderators the list of waiting requests: at most once in 24 hours, and only while some wait. */
async function queueDigest(database: Database, { at, publicUrl }: Notices): Promise<void> {
  const requests = await pendingRequests(database);
  const before = addSeconds(at, -DIGEST_DELAY_SECONDS);
  if (!requests.some(({ requested_at }) => fromDatabaseTime(requested_at) <= before)) return;
  if (await wasSentToday(database, 'digest ', at)) return;
  const moderators = await listModerators(database);
  await database.transaction(async (writer) => {
    const name = `digest ${dayOf(at.getTime())}`;
    if (!(await claimNotice(writer, database, name, at))) return;
    for (const moderator of moderators) {
      if (!isMailAddress(moderator.email)) continue;
      const mail = digestMail(moderator, requests, publicUrl);
      await enqueueMail(writer, { ...mail, recipient: moderator.email, at });
    }
  });
}
