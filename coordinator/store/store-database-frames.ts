/** The messages of Postgres' protocol, as far as a connection has to know them: a letter, four bytes of length, the rest. */

/** Told of each message by its letter, once its head has come, however the stream is cut into pieces. */
export const createFrameReader = (onMessage: (letter: string) => void): ((piece: Uint8Array) => void) => {
  const head = Buffer.alloc(5);
  let inHead = 0;
  let left = 0;
  return (piece) => {
    let at = 0;
    while (at < piece.length) {
      if (left > 0) {
        const step = Math.min(left, piece.length - at);
        left -= step;
        at += step;
        continue;
      }
      const step = Math.min(head.length - inHead, piece.length - at);
      head.set(piece.subarray(at, at + step), inHead);
      inHead += step;
      at += step;
      if (inHead < head.length) return;
      inHead = 0;
      // The length counts its own four bytes.
      left = head.readUInt32BE(1) - 4;
      onMessage(String.fromCharCode(head[0] ?? 0));
    }
  };
};

/** Splits what is whole of `bytes` into messages. */
export const wholeMessages = (bytes: Buffer): { readonly messages: readonly Buffer[]; readonly rest: Buffer } => {
  const messages: Buffer[] = [];
  let rest = bytes;
  while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
    const end = rest.readUInt32BE(1) + 1;
    messages.push(rest.subarray(0, end));
    rest = rest.subarray(end);
  }
  return { messages, rest };
};

export const letterOf = (message: Buffer): string => String.fromCharCode(message[0] ?? 0);

/** A question in the simple protocol. */
export const simpleQuery = (text: string): Buffer => {
  const body = Buffer.from(`${text}\0`);
  const head = Buffer.alloc(5, 'Q');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};

/** Asks for TLS: answered by one letter, S or N. */
export const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * What the client begins with. It gathers what it writes until the end of a turn, or until it is 1,024 bytes. A connection that closes within the
 * turn leaves it with questions that it believes are about to be sent, and it says nothing any more on the next connection. This one parameter,
 * which no server sees, makes its beginning long enough to go out at once, whatever else lies there.
 */
export const startupFiller = { antipode_filler: 'x'.repeat(1_024) };

const [fillerName = ''] = Object.keys(startupFiller);
/** The version of the protocol, and the first parameter that the client names. */
const startupMark = Buffer.from('\0\u0003\0\0user\0', 'latin1');

/** The beginning alone, without what was left of a connection before, and without the filler. Undefined when there is no beginning in it. */
export const startupIn = (written: Buffer): Buffer | undefined => {
  const at = written.lastIndexOf(startupMark) - 4;
  if (at < 0) return undefined;
  const words = written
    .subarray(at + 8)
    .toString('utf8')
    .split('\0');
  const filled = words.indexOf(fillerName);
  if (filled >= 0) words.splice(filled, 2);
  const body = Buffer.from(words.join('\0'));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8, 0);
  written.copy(head, 4, at + 4, at + 8);
  return Buffer.concat([head, body]);
};
