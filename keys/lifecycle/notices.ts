/**
 * Mails that no action causes: the list of waiting requests for moderators, and the notices that a key
 * has used most of its daily quota, or that a trial ends. Each is queued once, however many programs
 * look for it.
 */
import type { Database } from '../../database/database.ts';
import { dayOf } from '../../format/key-usage.ts';
import {
  digestMail,
  type KeyNews,
  type MailText,
  quotaMail,
  trialEndMail,
} from '../mail/mail-texts.ts';
import { isMailAddress } from '../mail/mailer.ts';
import { enqueueMail } from '../mail/outbox.ts';
import { hasAccounts, listModerators } from '../tables/accounts.ts';
import { addSeconds, fromDatabaseTime, toDatabaseTime } from '../tables/database-time.ts';
import { claimNotice, removeOldNotices, wasSentToday } from '../tables/sent-notices.ts';
import { pendingRequests } from './key-lists.ts';
import { readNews } from './transition.ts';

/** From this share of its quota on, the owner of a key is told. */
const QUOTA_SHARE = 0.8;
/** How long a request waits before a mail tells moderators: they may be reviewing already. */
const DIGEST_DELAY_SECONDS = 300;
const DAY_SECONDS = 24 * 3600;
/** How long before the end of a trial its owner is told. */
const TRIAL_NOTICE_SECONDS = 2 * DAY_SECONDS;
/** A trial that ended longer ago is not mentioned any more, for example after the program was stopped. */
const TRIAL_ENDED_SECONDS = DAY_SECONDS;

export interface Notices {
  readonly at: Date;
  /** The address of the pages, without a slash at the end. */
  readonly publicUrl: string;
}

/** Queues the mails that are due. */
export async function queueNotices(database: Database, notices: Notices): Promise<void> {
  if (!(await hasAccounts(database))) return;
  await queueDigest(database, notices);
  await queueQuotaNotices(database, notices);
  await queueTrialNotices(database, notices);
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

/** Tells owners, once for each key and day. The requests of all proxies are counted together. */
async function queueQuotaNotices(database: Database, { at, publicUrl }: Notices): Promise<void> {
  const day = dayOf(at.getTime());
  const rows = await database.rows(
    `SELECT k.id, k.daily_quota, SUM(u.requests) FROM key_usage u JOIN api_keys k ON k.id = u.key_id
     WHERE u.day = ? AND k.state = 'approved' AND k.daily_quota IS NOT NULL AND k.account_id IS NOT NULL
     GROUP BY k.id, k.daily_quota HAVING SUM(u.requests) >= ${QUOTA_SHARE} * k.daily_quota`,
    [day],
  );
  for (const [id, dailyQuota, used] of rows) {
    const share = { used: Number(used), dailyQuota: Number(dailyQuota) };
    await queueForOwner(
      database,
      Number(id),
      { name: `quota ${id} ${day}`, at, publicUrl },
      (news) => quotaMail(news, share),
    );
  }
}

/** Tells owners, once for each request, that their trial key stops working unless it is approved. */
async function queueTrialNotices(database: Database, { at, publicUrl }: Notices): Promise<void> {
  const rows = await database.rows(
    `SELECT id, trial_until FROM api_keys
     WHERE state = 'pending' AND key_hash IS NOT NULL AND trial_until > ? AND trial_until <= ?`,
    [
      toDatabaseTime(addSeconds(at, -TRIAL_ENDED_SECONDS)),
      toDatabaseTime(addSeconds(at, TRIAL_NOTICE_SECONDS)),
    ],
  );
  for (const [id, trialUntil] of rows) {
    const end = fromDatabaseTime(String(trialUntil));
    await queueForOwner(database, Number(id), { name: `trial ${id}`, at, publicUrl }, (news) =>
      trialEndMail(news, end, at),
    );
  }
}

/** Queues a notice for the owner of a key, unless it was queued before. */
async function queueForOwner(
  database: Database,
  keyId: number,
  { name, at, publicUrl }: Notices & { readonly name: string },
  write: (news: KeyNews) => MailText,
): Promise<void> {
  await database.transaction(async (writer) => {
    if (!(await claimNotice(writer, database, name, at))) return;
    const news = await readNews(writer, keyId, publicUrl);
    if (news === undefined) return;
    await enqueueMail(writer, { ...write(news), keyId, recipient: news.owner.email, at });
  });
}
