/**
 * An HTTP server in front of another one that passes requests on and changes its responses: it can
 * replace them, cut them off, delay them, or stop in the middle.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';

export interface OriginReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** After how many bytes of the body the connection is cut. */
  readonly cutAfter?: number;
  /** After how many bytes of the body nothing more is sent. */
  readonly stallAfter?: number;
}

export interface OriginRequest {
  /** The path after the host. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Changes a reply. Content-Length is set to what it returns, unless it deletes the field itself. */
export type Change = (
  reply: OriginReply,
  request: OriginRequest,
) => OriginReply | Promise<OriginReply>;

export interface FaultyOrigin {
  /** The address of the API, with its base. */
  readonly url: string;
  /** Every request so far. */
  readonly requests: OriginRequest[];
  /** How many bytes of bodies were sent so far. */
  sent(): number;
  change: Change;
  close(): Promise<void>;
}

const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'date'];

/** @param origin the address of the real proxy */
export async function startFaultyOrigin(origin: string): Promise<FaultyOrigin> {
  let sent = 0;
  const requests: OriginRequest[] = [];
  const server: Server = createServer(async (incoming, outgoing) => {
    const path = incoming.url ?? '';
    const asked = { path, headers: incoming.headers };
    requests.push(asked);
    try {
      const { connection: _, host: __, ...headers } = incoming.headers;
      const answer = await request(origin + path, { headers });
      const body = Buffer.from(await answer.body.arrayBuffer());
      const own = Object.entries(answer.headers).filter(([name]) => !HOP_BY_HOP.includes(name));
      const plain = { status: answer.statusCode, headers: Object.fromEntries(own), body };
      const reply = await faulty.change(plain, asked);
      const length = reply.headers['content-length'] === undefined ? {} : lengthOf(reply.body);
      outgoing.writeHead(reply.status, { ...reply.headers, ...length });
      const end = Math.min(
        reply.cutAfter ?? reply.body.length,
        reply.stallAfter ?? reply.body.length,
      );
      sent += end;
      if (reply.stallAfter !== undefined) outgoing.write(reply.body.subarray(0, end));
      else if (reply.cutAfter === undefined) outgoing.end(reply.body);
      else outgoing.write(reply.body.subarray(0, end), () => incoming.socket.destroy());
    } catch (error) {
      outgoing.destroy(error as Error);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const faulty: FaultyOrigin = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    requests,
    sent: () => sent,
    change: (reply) => reply,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return faulty;
}

function lengthOf(body: Buffer): Record<string, string> {
  return { 'content-length': String(body.length) };
}
