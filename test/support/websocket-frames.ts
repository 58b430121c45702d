import { createHash } from 'node:crypto';

/** What a server of WebSockets writes, as wrong as a test wants it. */

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const acceptOf = (head: string): string =>
  createHash('sha1')
    .update(`${/^sec-websocket-key: (.*)\r$/im.exec(head)?.[1] ?? ''}${guid}`)
    .digest('base64');

/** The answer to an upgrade with these headers; null leaves one out. */
export const upgraded = (
  head: string,
  changes: Readonly<Record<string, string | null>> = {},
): string => {
  const headers: Readonly<Record<string, string | null>> = {
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Accept': acceptOf(head),
    ...changes,
  };
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === null ? [] : [`${name}: ${value}`],
  );
  return ['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n');
};

export const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** One frame. */
export const frame = (
  opcode: number,
  payload: string | Buffer = '',
  {
    fin = true,
    reserved = 0,
    isMasked = false,
    length,
  }: {
    readonly fin?: boolean;
    readonly reserved?: number;
    readonly isMasked?: boolean;
    /** Says another length than that of the payload. */
    readonly length?: number;
  } = {},
): Buffer => {
  const bytes = Buffer.from(payload);
  const size = length ?? bytes.length;
  const first = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  const mask = isMasked ? 0x80 : 0;
  const head =
    size < 126
      ? Buffer.from([first, mask | size])
      : size < 65_536
        ? Buffer.from([first, mask | 126, size >> 8, size & 0xff])
        : Buffer.concat([Buffer.from([first, mask | 127]), bigEndian(size)]);
  return Buffer.concat([head, isMasked ? Buffer.alloc(4) : Buffer.alloc(0), bytes]);
};

const bigEndian = (size: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(size));
  return bytes;
};

export const closeFrame = (code: number, reason = ''): Buffer =>
  frame(opcodes.close, Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]));
