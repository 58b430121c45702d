/** Frames of HTTP/2 by hand, for servers that break its rules. */

export const frame = (
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** Literal fields that no table keeps, with names and values shorter than 127 bytes. */
export const fields = (...pairs: readonly (readonly [name: string, value: string])[]): Buffer =>
  Buffer.concat(
    pairs.flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name, 'latin1'),
      Buffer.from([value.length]),
      Buffer.from(value, 'latin1'),
    ]),
  );

export const endStream = 1;
export const endHeaders = 4;
export const padded = 8;

/** What our one stream may get. */
export const settings = frame(4, 0, 0);
export const headers = (block: Buffer, flags = endHeaders): Buffer => frame(1, flags, 1, block);
export const continuation = (block: Buffer, flags = 0): Buffer => frame(9, flags, 1, block);
export const data = (payload: string | Buffer, flags = 0): Buffer =>
  frame(0, flags, 1, Buffer.from(payload));
export const reset = (code: number): Buffer => frame(3, 0, 1, number(code));
export const goAway = (code: number, last = 0): Buffer =>
  frame(7, 0, 0, Buffer.concat([number(last), number(code)]));
export const ping = frame(6, 0, 0, Buffer.alloc(8));
export const windowUpdate = frame(8, 0, 0, number(1));

export const statusOf = (status: number): Buffer => fields([':status', String(status)]);
