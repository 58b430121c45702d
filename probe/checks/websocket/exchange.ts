import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';
import { codeOf } from '../../../shared/base/errors.ts';
import type { WebsocketSettings } from '../../../shared/checks/websocket/config.ts';
import { ownCodes } from '../connection/observation.ts';
import type { ResponseSeen } from '../https/evidence.ts';
import type { CheckDeadline } from '../limits.ts';
import { type Conversation, type WebsocketFailure, websocketCodes } from './verdict.ts';

/** A message may be as large as any check may hold without asking. */
const maxMessage = 65_536;
/** How much of a connection is read in all: heads, frames and messages. */
const maxRead = 1_048_576;
const maxHead = 131_072;
/** Each part of a message costs more memory than it has bytes. */
const maxParts = 4_096;
/** Enough of the page of a refusal to recognise a firewall. */
const maxBody = 4_096;
/** Enough for evidence, even if it contains a secret. */
const maxShown = 12_288;
/** How long a server may take to answer our closing. */
const closePatienceMs = 500;

export type Upgrade = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly settings: WebsocketSettings;
};

/** An error after the end is the other side's reaction to our closing, and does not matter. */
const ignored = (): void => undefined;

/**
 * Asks for the upgrade over a connection, then sends and reads messages. Always closes the
 * connection, after the verdict is known.
 *
 * Modes: `first_byte` (asked) → `head` → `answer` (the WebSocket is open) → over, from any of them;
 * a success closes the WebSocket first. The deadline ends every mode.
 */
export function converse(
  Client: typeof WebSocket,
  socket: Socket,
  { url, headers, settings }: Upgrade,
  deadline: CheckDeadline,
): Promise<Conversation> {
  return new Promise((resolve) => {
    const { send, expect, subprotocol } = settings;
    const sent = performance.now();
    let phase: WebsocketFailure['phase'] = 'first_byte';
    let first_byte_ms: number | null = null;
    let read = 0;
    let beginning: Buffer = Buffer.alloc(0);
    let response: ResponseSeen | null = null;
    let first: Conversation['first'] = null;
    let messages = 0;
    /** How the other side ended the connection; the first end counts, a reset has echoes. */
    let ended: string | undefined;
    let over = false;

    const settle = (code: string | null, close: Conversation['close'] = null): void => {
      if (over) return;
      over = true;
      const failure = code === null ? null : { phase, code };
      const at = performance.now();
      const finish = (close: Conversation['close']): void => {
        // Node keeps a closed TLS connection until a full garbage collection, so we detach
        // everything of ours from it.
        socket.off('data', count).off('end', closed).off('error', failed);
        socket.on('error', ignored);
        // Not at once: our last words are still to leave.
        setImmediate(() => socket.destroy());
        resolve({ at, first_byte_ms, beginning, response, first, messages, close, failure });
      };
      if (failure) {
        finish(close);
        return;
      }
      // The client destroys the socket when the server does not answer in time.
      deadline.stop = () => socket.destroy();
      client.once('close', (code, reason) => finish(closeOf(code, reason)));
      client.close(1_000);
    };

    const count = (part: Buffer): void => {
      if (first_byte_ms === null) {
        first_byte_ms = performance.now() - sent;
        phase = 'head';
      }
      if (response === null && beginning.length < maxShown)
        beginning = Buffer.concat([beginning, part]).subarray(0, maxShown);
      read += part.length;
      if (read <= maxRead) return;
      if (over) socket.destroy();
      else if (phase !== 'answer') settle(ownCodes.headersTooLarge);
      else settle(expect === null ? null : ownCodes.incomplete);
    };
    const closed = (): void => {
      ended ??= ownCodes.closed;
    };
    const failed = (error: unknown): void => {
      ended ??= codeOf(error, 'EUNKNOWN');
    };
    socket.once('error', failed).once('end', closed);

    const options = {
      createConnection: () => socket,
      headers,
      perMessageDeflate: false,
      maxPayload: maxMessage,
      maxFragments: maxParts,
      maxBufferedChunks: maxParts,
      maxHeaderSize: maxHead,
      closeTimeout: closePatienceMs,
      finishRequest: (request: ClientRequest): void => {
        request.once('socket', () => socket.prependListener('data', count));
        request.end();
      },
    };
    const client = new Client(url, subprotocol === null ? [] : [subprotocol], options);

    client.on('upgrade', ({ statusCode = 0, rawHeaders }) => {
      response = responseOf(statusCode, rawHeaders);
    });
    client.on('unexpected-response', (_request, incoming: IncomingMessage) => {
      const { statusCode = 0, rawHeaders } = incoming;
      const body: Buffer[] = [];
      let length = 0;
      const refused = (): void => {
        const whole = Buffer.concat(body).subarray(0, maxBody);
        response = { ...responseOf(statusCode, rawHeaders), body: whole, read: length };
        settle(ownCodes.refused);
      };
      // Its status is known, whatever becomes of its body.
      deadline.stop = () => void setImmediate(refused);
      incoming.on('data', (part: Buffer) => {
        body.push(part);
        length += part.length;
        if (length >= maxBody) refused();
      });
      incoming.once('end', refused).once('close', refused).on('error', refused);
    });
    client.once('open', () => {
      phase = 'answer';
      if (send !== null) client.send(send, (error) => !error && expect === null && settle(null));
      else if (expect === null) settle(null);
    });
    client.on('message', (data: RawData, isBinary: boolean) => {
      // As the client gives them, unless it is asked for others.
      if (over || !Buffer.isBuffer(data)) return;
      messages += 1;
      first ??= { bytes: Buffer.from(data.subarray(0, maxShown)), isBinary };
      if (expect !== null && data.includes(expect)) settle(null);
    });
    client.on('error', (error) => {
      const code = codeOf(error, '');
      if (phase === 'answer') settle(code);
      // The client has no codes for what is wrong with an upgrade.
      else if (response !== null)
        settle(
          error.message.includes('subprotocol')
            ? websocketCodes.subprotocol
            : websocketCodes.notSpoken,
        );
      else if (code === 'HPE_HEADER_OVERFLOW') settle(ownCodes.headersTooLarge);
      else if (code.startsWith('HPE_')) settle(ownCodes.malformed);
      else settle(ended ?? code);
    });
    client.once('close', (code, reason) => {
      const close = closeOf(code, reason);
      // Nothing else makes the client itself end a connection.
      if (close === null) settle(ended ?? websocketCodes.flooded);
      else settle(websocketCodes.closeFrame, close);
    });

    if (deadline.isOver()) return settle(ownCodes.deadline);
    // Reads what has already arrived first: after a pause of this process, the deadline fires
    // before the sockets.
    deadline.stop = () => void setImmediate(settle, ownCodes.deadline);
  });
}

/** What the client reports where no close frame came. */
const noCloseFrame = 1_006;

function closeOf(code: number, reason: Buffer): Conversation['close'] {
  return code === noCloseFrame ? null : { code, reason };
}

function responseOf(status: number, raw: readonly string[]): ResponseSeen {
  return {
    status,
    headers: raw.flatMap((name, at) =>
      at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? ''] as const] : [],
    ),
    body: Buffer.alloc(0),
    read: 0,
    truncated: false,
  };
}
