/** Whole numbers up to 2^53 in as few bytes as they need, seven bits in each. */
export function writeVarint(bytes: number[], value: number): void {
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
}

/** `isOver`: something was to be read beyond the end. */
export type Reader = { readonly data: Uint8Array; offset: number; isOver: boolean };

export const readerOf = (data: Uint8Array): Reader => ({ data, offset: 0, isOver: false });

export function readByte(reader: Reader): number {
  const byte = reader.data[reader.offset];
  reader.offset += 1;
  if (byte === undefined) reader.isOver = true;
  return byte ?? 0;
}

export function readVarint(reader: Reader): number {
  let byte = readByte(reader);
  let value = byte & 0x7f;
  for (let factor = 0x80; byte >= 0x80; factor *= 0x80) {
    byte = readByte(reader);
    value += (byte & 0x7f) * factor;
  }
  return value;
}

export function readBytes(reader: Reader, length: number): Uint8Array {
  const bytes = reader.data.subarray(reader.offset, reader.offset + length);
  reader.offset += length;
  if (bytes.length < length) reader.isOver = true;
  return bytes;
}
