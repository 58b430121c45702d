/**
 * The two messages of the health checking protocol (grpc.health.v1) as gRPC frames them: a flag of
 * compression, four bytes of length, and a message of one field. Pure.
 */

const prefix = 5;
/** A health status takes two bytes; a server may add fields that we do not know. */
export const maxAnswer = 4_096;

/** The request: the service in field 1; empty where it is the whole server. */
export function healthRequest(service: string): Buffer {
  const name = Buffer.from(service, 'utf8');
  const message =
    name.length === 0
      ? name
      : Buffer.concat([Buffer.from([tagOf(1, wire.bytes), ...varint(name.length)]), name]);
  const head = Buffer.alloc(prefix);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/**
 * The status in all that came before the trailers. Undefined: nothing, a part, more than one
 * message, or one that is compressed (which we do not offer), too long or malformed.
 */
export function readHealth(bytes: Uint8Array): number | undefined {
  if (bytes.length < prefix || bytes[0] !== 0) return undefined;
  const length = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).readUInt32BE(1);
  return length <= maxAnswer - prefix && bytes.length === prefix + length
    ? statusIn(bytes.subarray(prefix))
    : undefined;
}

/** How the value of a field is written (protocol buffers). */
const wire = { varint: 0, eight: 1, bytes: 2, four: 5 } as const;

function tagOf(field: number, type: number): number {
  return field * 8 + type;
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}

/** The status in field 1: the last one counts, and 0 is left out. Undefined: no such message. */
function statusIn(message: Uint8Array): number | undefined {
  let status = 0;
  let at = 0;
  while (at < message.length) {
    const tag = varintAt(message, at);
    if (!tag || tag.value < 8) return undefined;
    const type = tag.value % 8;
    const value = type === wire.varint || type === wire.bytes ? varintAt(message, tag.end) : null;
    if (value === undefined) return undefined;
    if (tag.value === tagOf(1, wire.varint)) status = value?.value ?? 0;
    if (value !== null) at = value.end + (type === wire.bytes ? value.value : 0);
    else if (type === wire.eight) at = tag.end + 8;
    else if (type === wire.four) at = tag.end + 4;
    else return undefined;
  }
  return at === message.length ? status : undefined;
}

const maxVarint = 10;

/**
 * A number and where it ends. Beyond 32 bits only the lower ones count, as for every enum;
 * undefined where it has no end.
 */
function varintAt(
  bytes: Uint8Array,
  from: number,
): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let at = 0; at < maxVarint; at += 1) {
    const byte = bytes[from + at];
    if (byte === undefined) return undefined;
    if (at < 5) value += (byte & 127) * 2 ** (7 * at);
    if (byte < 128) return { value: value % 2 ** 32, end: from + at + 1 };
  }
  return undefined;
}
