/**
 * An HTTP server in front of another one that passes requests on and changes its responses: it can
 * replace them, delay them, or cut them off. It ends with the test file.
 */
import { createServer } from 'node:http';
import { request } from 'undici';
import { listenOn } from './sockets.ts';

export interface OriginReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** After how many bytes of the body the connection is cut. */
  readonly cutAfter?: number;
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

export type FaultyOrigin = Awaited<ReturnType<typeof startFaultyOrigin>>;

const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'date'];

/** @param origin the address of the real proxy */
export async function startFaultyOrigin(origin: string) {
  const requests: OriginRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
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
      const isSized = reply.headers['content-length'] !== undefined;
      const length = isSized && { 'content-length': String(reply.body.length) };
      outgoing.writeHead(reply.status, { ...reply.headers, ...length });
      const sent = reply.body.subarray(0, reply.cutAfter);
      if (reply.cutAfter === undefined) outgoing.end(sent);
      else outgoing.write(sent, () => incoming.socket.destroy());
    } catch (error) {
      outgoing.destroy(error as Error);
    }
  });
  const faulty = {
    /** The address of the API, with its base. */
    url: `http://127.0.0.1:${await listenOn(server)}/api/v1`,
    /** Every request so far. */
    requests,
    change: ((reply) => reply) as Change,
  };
  return faulty;
}
