/** A real SMTP server on loopback that keeps the e-mails it receives, for tests to read. */
import { SMTPServer } from 'smtp-server';
import { readMail } from './mail-server.ts';

export interface Mailbox {
  /** For `SMTP_URL`. */
  readonly url: string;
  /** The decoded e-mails to an address, oldest first. */
  to(address: string): readonly string[];
  stop(): Promise<void>;
}

export async function startMailbox(): Promise<Mailbox> {
  const mails: { readonly recipients: readonly string[]; readonly text: string }[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    async onData(stream, session, done) {
      const source = Buffer.concat(await stream.toArray()).toString('utf8');
      const recipients = session.envelope.rcptTo.map(({ address }) => address);
      mails.push({ recipients, text: readMail(source) });
      done();
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as { port: number };
  return {
    url: `smtp://127.0.0.1:${port}`,
    to: (address) =>
      mails.filter(({ recipients }) => recipients.includes(address)).map(({ text }) => text),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
