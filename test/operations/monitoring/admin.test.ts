/** The admin addresses of programs other than the proxy: health, tasks and metrics. */
import { expect, test } from 'vitest';
import { makeProgramAdmin } from '#lib/program/admin/program-admin.ts';
import { makeAccounts, makeVisitor, openPages, PEOPLE, signIn } from '#test/support/account.ts';
import { makeFolder, send } from '#test/support/product.ts';

test('a program is ready until one of its tasks fails or it stops', async () => {
  const admin = makeProgramAdmin({
    program: 'schedule',
    settings: { ADMIN_HOST: '127.0.0.1', ADMIN_PORT: 0 },
  });
  let fault: Error | undefined;
  const work = admin.tasks.observe('export_keys', async () => {
    if (fault !== undefined) throw fault;
  });
  const url = `http://${await admin.listen()}`;
  await work();
  expect((await send(`${url}/healthz`)).json).toEqual({ healthy: true });
  expect((await send(`${url}/other`)).status).toBe(404);
  const ready = await send(`${url}/readyz`);
  expect([ready.status, ready.json]).toEqual([
    200,
    {
      program: 'schedule',
      ready: true,
      stopping: false,
      tasks: { export_keys: { last_success: expect.any(String), error: null, idle: null } },
    },
  ]);
  fault = new Error('no database');
  await expect(work()).rejects.toThrow('no database');
  const failing = await send(`${url}/readyz`);
  expect([failing.status, failing.json.tasks.export_keys.error]).toEqual([503, 'no database']);
  const { text } = await send(`${url}/metrics`);
  expect(text).toContain('task_runs_total{task="export_keys",outcome="done"} 1\n');
  expect(text).toContain('task_runs_total{task="export_keys",outcome="failed"} 1\n');
  expect(text).toContain('task_failing{task="export_keys"} 1\n');
  fault = undefined;
  await work();
  expect((await send(`${url}/readyz`)).status).toBe(200);
  admin.announceEnd();
  const ending = await send(`${url}/readyz`);
  expect([ending.status, ending.json.stopping]).toEqual([503, true]);

  const port = Number(new URL(url).port);
  const taken = makeProgramAdmin({
    program: 'replica',
    // The replica listens seven ports above it.
    settings: { ADMIN_HOST: '127.0.0.1', ADMIN_PORT: port - 7 },
  });
  const fix = `port ${port}, which ADMIN_PORT chooses, must be free`;
  await expect(taken.listen()).rejects.toThrow(fix);
  admin.close();
});

test('the account pages count sign-ins, responses and e-mails', async () => {
  const mailFolder = makeFolder();
  const pages = await openPages(await makeAccounts(), { MAIL_FOLDER: mailFolder });
  await signIn(makeVisitor(pages.url), PEOPLE.owner.email, mailFolder);
  await pages.sendMails();
  const { text } = await send(`${pages.adminUrl}/metrics`);
  expect(text).toContain('account_sign_ins_total{outcome="done"} 1\n');
  expect(text).toContain('account_sign_ins_total{outcome="refused"} 0\n');
  expect(text).toMatch(/^account_response_seconds_count\{status="303"\} [1-9]/m);
  expect(text).toContain('account_database_up 1\n');
  expect(text).toContain('mail_sent_total 1\n');
  expect(text).toContain('mail_waiting 0\n');
  expect(text).toContain('account_keys{state="pending"} 0\n');
  expect((await send(`${pages.adminUrl}/readyz`)).json).toMatchObject({ ready: true });
  await pages.stop();
});
