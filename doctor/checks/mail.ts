/** The mail server: connection, TLS and login. Nothing is sent. */
import { checkMailServer, isRefusal } from '../../keys/mail/mailer.ts';
import { messageOf } from '../../program/failure.ts';
import { type Check, requireValue } from '../findings/check.ts';

export const mail: Check = {
  name: 'mail server',
  programs: ['account'],
  async run(scene, { ok, error }) {
    const smtpUrl = requireValue(scene, 'SMTP_URL');
    if (smtpUrl === '') {
      ok(`There is no mail server; e-mails are written to ${requireValue(scene, 'MAIL_FOLDER')}.`);
      return;
    }
    const { host } = new URL(smtpUrl);
    try {
      await checkMailServer(smtpUrl);
      ok(`The mail server ${host} answers and accepts the login.`);
    } catch (cause) {
      const { code = '' } = cause as { code?: string };
      const isLogin = code === 'EAUTH' || isRefusal(cause);
      error(
        `The mail server ${host} ${isLogin ? 'refuses the login' : 'cannot be used'}: ${messageOf(cause)}.`,
        isLogin
          ? 'Correct the user and the password in SMTP_URL (special characters percent-encoded).'
          : 'Correct the host and the port in SMTP_URL: 465 with smtps://, 587 with smtp://. Does a firewall block it?',
      );
    }
  },
};
