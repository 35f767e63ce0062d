/** A real SMTP server on loopback that can stop or refuse e-mails, and keeps those that it accepts. */
import { SMTPServer } from 'smtp-server';

export interface AcceptedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** The header and body, with lines that end with \n. */
  readonly source: string;
  readonly messageId: string;
  /** The name that the client has given itself. */
  readonly client: string;
}

/** What it refuses: the reply to a sender, to a recipient, or to the whole e-mail after its data. */
interface Refusals {
  sender?: string;
  recipient?(address: string): string | undefined;
  data?: string;
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

export async function startMailServer() {
  const mails: AcceptedMail[] = [];
  let rules: Refusals = {};
  let port = 0;
  let server: SMTPServer;

  async function start(): Promise<void> {
    server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['AUTH', 'STARTTLS'],
      closeTimeout: 100,
      onMailFrom(_address, _session, done) {
        done(refusal(rules.sender));
      },
      onRcptTo({ address }, _session, done) {
        done(refusal(rules.recipient?.(address)));
      },
      async onData(stream, { envelope, hostNameAppearsAs: client }, done) {
        const source = Buffer.concat(await stream.toArray()).toString('utf8');
        if (rules.data !== undefined) return done(refusal(rules.data));
        const text = source.replaceAll('\r\n', '\n');
        mails.push({
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          source: text,
          client,
          messageId: /^message-id: (.*)$/im.exec(text)?.[1] ?? '',
        });
        done();
      },
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    port = (server.server.address() as { port: number }).port;
  }

  await start();
  return {
    /** For `SMTP_URL`. */
    url: `smtp://127.0.0.1:${port}`,
    /** The accepted e-mails, in order. */
    mails: mails as readonly AcceptedMail[],
    refuse(given: Refusals) {
      rules = given;
    },
    /** Listens on the same port again. */
    start,
    /** Stops listening and cuts the connections. */
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** @param answer an SMTP reply such as "550 no such mailbox" */
function refusal(answer: string | undefined): Error | null {
  if (answer === undefined) return null;
  const [code, ...words] = answer.split(' ');
  return Object.assign(new Error(words.join(' ')), { responseCode: Number(code) });
}

/** Decodes an e-mail: the encoded words of its header, and its text. */
export function readMail(source: string): string {
  const [head, body] = halves(
    source.replaceAll('\r\n', '\n').replace(/\n[ \t]+(?=[^\n]*\n)/g, '\n '),
  );
  const shown = head.replace(/=\?UTF-8\?([QB])\?(.*?)\?=/gi, (_, kind, word) =>
    /q/i.test(kind)
      ? unquoted(word.replaceAll('_', ' '))
      : Buffer.from(word, 'base64').toString('utf8'),
  );
  return `${shown}\n\n${decoded(head, body)}`;
}

function decoded(head: string, body: string): string {
  const encoding = /^content-transfer-encoding: (.*)$/im.exec(head)?.[1];
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  return encoding === 'quoted-printable' ? unquoted(body.replace(/=\n/g, '')) : body;
}

/** A header and what follows the first empty line. */
function halves(text: string): [head: string, body: string] {
  const end = text.indexOf('\n\n');
  return end === -1 ? [text, ''] : [text.slice(0, end), text.slice(end + 2)];
}

function unquoted(text: string): string {
  return text.replace(/(?:=[0-9A-F]{2})+/g, (codes) =>
    Buffer.from(codes.replaceAll('=', ''), 'hex').toString('utf8'),
  );
}
