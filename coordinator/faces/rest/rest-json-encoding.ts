/** In which of Unicode's encodings a JSON text came: the first characters of JSON are ASCII, so that the places of its zero bytes tell (as in RFC 4627, and in Python). */
type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be';

const marks: readonly (readonly [Encoding, readonly number[]])[] = [
  ['utf-32be', [0, 0, 0xfe, 0xff]],
  ['utf-32le', [0xff, 0xfe, 0, 0]],
  ['utf-16be', [0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
];

const encodingOf = (bytes: Uint8Array): Encoding => {
  const marked = marks.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte));
  if (marked) return marked[0];
  const isWide = bytes.length >= 4;
  if (!isWide && bytes.length !== 2) return 'utf-8';
  if (bytes[0] === 0) return isWide && bytes[1] === 0 ? 'utf-32be' : 'utf-16be';
  if (bytes[1] === 0) return isWide && bytes[2] === 0 && bytes[3] === 0 ? 'utf-32le' : 'utf-16le';
  return 'utf-8';
};

/** As if it had come in UTF-16, which the runtime can decode. @throws TypeError */
const narrowed = (bytes: Uint8Array, isLittle: boolean): Uint8Array => {
  if (bytes.length % 4 !== 0) throw new TypeError('not whole characters');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const units: number[] = [];
  for (let at = 0; at < bytes.length; at += 4) {
    const point = view.getUint32(at, isLittle);
    if (point > 0x10_ffff) throw new TypeError('not a character');
    if (point < 0x1_0000) units.push(point);
    else units.push(0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff));
  }
  return Uint8Array.from(units.flatMap((unit) => [unit & 0xff, unit >> 8]));
};

/** The text without a byte order mark. @throws TypeError when the bytes are no text. */
export const textOfJson = (bytes: Uint8Array): string => {
  const encoding = encodingOf(bytes);
  const isWide = encoding === 'utf-32le' || encoding === 'utf-32be';
  const decoder = new TextDecoder(isWide ? 'utf-16le' : encoding, { fatal: true });
  return decoder.decode(isWide ? narrowed(bytes, encoding === 'utf-32le') : bytes);
};
