/** A clock that was ten years ahead for some seconds, and is right again, leaves no mark on keys and accounts. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { exportKeys } from '#keys/export/export-keys.ts';
import { eventsOf } from '#keys/lifecycle/history.ts';
import { findKey } from '#keys/lifecycle/key-lists.ts';
import { endOwnOldKey, renameKey, rotateKey } from '#keys/lifecycle/own-keys.ts';
import {
  createSession,
  findSession,
  mailSignInLink,
  removeOldSignIns,
  SESSION_SECONDS,
} from '#keys/lifecycle/sign-in.ts';
import type { Mail } from '#keys/mail/mailer.ts';
import { enqueueMail, listMails, removeOldMails, sendDueMails } from '#keys/mail/outbox.ts';
import { addLink, openLink } from '#keys/tables/sign-in-links.ts';
import { parseKeys } from '#lib/format/keys-file.ts';
import { makeFolder } from '#test/support/product.ts';
import { AT, later, openKeysDatabase, PUBLIC_URL } from './keys-database.ts';

const DAY = 24 * 3600;
/** In seconds, from {@link AT}. */
const TEN_YEARS = 3653 * DAY;

describe('after a clock was ten years ahead', async () => {
  const database = await openKeysDatabase('sqlite');
  beforeEach(async () => {
    vi.useFakeTimers({ now: AT, toFake: ['Date'] });
    for (const table of ['mail_outbox', 'sign_in_links', 'sessions']) {
      await database.run(`DELETE FROM ${table}`);
    }
  });
  afterEach(() => void vi.useRealTimers());
  const mailLink = (email: string, seconds: number) =>
    mailSignInLink(database, email, { at: later(seconds), publicUrl: PUBLIC_URL });
  const mails: Mail[] = [];
  const send = (seconds: number, error?: Error) =>
    sendDueMails(
      database,
      {
        async send(mail) {
          if (error !== undefined) throw error;
          mails.push(mail);
        },
      },
      later(seconds),
    );

  it('its sign-in links and sessions sign nobody in, and nobody is locked out', async () => {
    const { id, email } = await database.addOwner();
    const { token } = await addLink(database, id, later(TEN_YEARS));
    const session = await createSession(database, id, later(TEN_YEARS));
    for (let i = 1; i < 5; i++) expect(await mailLink(email, TEN_YEARS + i)).toBe(true);
    expect(await mailLink(email, TEN_YEARS + 12)).toBe(false);
    for (const seconds of [20, DAY]) {
      expect(await openLink(database, token, later(seconds))).toBeUndefined();
      expect(await findSession(database, session, later(seconds))).toBeUndefined();
    }
    expect(await mailLink(email, 20)).toBe(true);
    expect(await openLink(database, token, later(TEN_YEARS))).toBe(id);
  });

  it('the sessions, links and mails of before are still there', async () => {
    const { id } = await database.addOwner();
    const session = await createSession(database, id, AT);
    const { token } = await addLink(database, id, AT);
    const mail = { recipient: 'a@covers.example', body: 'Text.', subject: 'News', at: AT };
    await enqueueMail(database, mail);
    await send(0);
    await enqueueMail(database, { ...mail, recipient: 'nobody' });
    // As a program that starts with the wrong clock does at once.
    await removeOldSignIns(database, later(TEN_YEARS));
    await removeOldMails(database, later(TEN_YEARS));
    expect(await findSession(database, session, later(12))).toBe(id);
    expect(await openLink(database, token, later(12))).toBe(id);
    expect(await listMails(database, true)).toHaveLength(2);
    await createSession(database, id, later(3 * SESSION_SECONDS));
    await addLink(database, id, later(DAY));
    await enqueueMail(database, { ...mail, recipient: 'nobody', at: later(60 * DAY) });
    await removeOldSignIns(database, later(3 * SESSION_SECONDS));
    await removeOldMails(database, later(60 * DAY));
    const counts = ['sessions', 'sign_in_links', 'mail_outbox'].map(
      async (table) => (await database.rows(`SELECT COUNT(*) FROM ${table}`))[0]?.[0],
    );
    // Mails that were sent are compared with mails that were sent.
    expect(await Promise.all(counts)).toEqual([1, 1, 2]);
  });

  it('mails that it has put off or queued are sent, with the right date, and none is given up', async () => {
    const mail = { recipient: 'a@covers.example', body: 'Text.', subject: 'Before' };
    await enqueueMail(database, { ...mail, at: AT });
    expect(await send(TEN_YEARS, new Error('busy'))).toEqual({ sent: 0, failed: 1 });
    await enqueueMail(database, { ...mail, subject: 'During', at: later(TEN_YEARS + 1) });
    const { email } = await database.addOwner();
    await mailLink(email, TEN_YEARS + 1);
    expect(await send(20)).toEqual({ sent: 2, failed: 0 });
    const [first, second] = mails.toSorted((a, b) => (a.subject < b.subject ? -1 : 1));
    expect([first?.subject, first?.date]).toEqual(['Before', AT]);
    expect(second?.subject).toBe('During');
    expect(second?.date.getTime()).toBeLessThan(later(DAY).getTime());
    expect(await listMails(database)).toMatchObject([
      { subject: 'Your sign-in link', last_error: 'It expired before it was sent.' },
    ]);
  });

  it('an account may change its keys', async () => {
    const { id: accountId } = await database.addOwner();
    const id = await database.keyIn('pending', accountId);
    const rename = (name: string, seconds: number) =>
      renameKey(database, { id, accountId, name, at: later(seconds) });
    for (let i = 0; i < 20; i++) await rename(`${i}`, TEN_YEARS);
    await expect(rename('more', TEN_YEARS)).rejects.toThrow('20 changes in an hour');
    await rename('again', 20);
    expect((await eventsOf(database, id)).at(-1)?.reason).toBe('again');
  });

  it('a key that it has replaced does not work for ten years', async () => {
    const { id: accountId } = await database.addOwner();
    const id = await database.keyIn('revealed', accountId);
    const own = { id, accountId, publicUrl: PUBLIC_URL };
    await rotateKey(database, { ...own, at: later(TEN_YEARS), keepsOld: true });
    const exported = async () => {
      const folder = makeFolder();
      await exportKeys(database, folder);
      const keys = parseKeys(readFileSync(path.join(folder, 'keys.json'), 'utf8'));
      return keys.filter((key) => key.id === id).length;
    };
    vi.setSystemTime(later(TEN_YEARS));
    expect([await exported(), (await findKey(database, id))?.old_key_prefix]).toEqual([
      2,
      expect.any(String),
    ]);
    vi.setSystemTime(later(20));
    expect([await exported(), (await findKey(database, id))?.old_key_prefix]).toEqual([1, null]);
    await expect(endOwnOldKey(database, { ...own, at: later(20) })).rejects.toThrow('no old key');
  });
});
