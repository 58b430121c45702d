/**
 * Whole numbers from 0 to 2^53 − 1 in as few bytes as they need, seven bits in each. What is read
 * beyond the end is 0, and shows in `at`.
 */
export type Bytes = { data: Uint8Array; at: number };

export function writeVarint(bytes: Bytes, value: number): void {
  const { data } = bytes;
  let { at } = bytes;
  let rest = value;
  // Divisions are for numbers beyond 31 bits only.
  for (; rest > 0x7f_ff_ff_ff; rest = Math.floor(rest / 0x80)) {
    data[at] = (rest % 0x80) + 0x80;
    at += 1;
  }
  for (; rest > 0x7f; rest >>>= 7) {
    data[at] = (rest & 0x7f) | 0x80;
    at += 1;
  }
  data[at] = rest;
  bytes.at = at + 1;
}

export function readVarint(bytes: Bytes): number {
  const { data } = bytes;
  let { at } = bytes;
  let byte = data[at] ?? 0;
  at += 1;
  let value = byte & 0x7f;
  for (let factor = 0x80; byte > 0x7f; factor *= 0x80) {
    byte = data[at] ?? 0;
    at += 1;
    value += (byte & 0x7f) * factor;
  }
  bytes.at = at;
  return value;
}

/** The same, behind what is there. */
export function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
}

export function readByte(bytes: Bytes): number {
  const byte = bytes.data[bytes.at] ?? 0;
  bytes.at += 1;
  return byte;
}

export function readBytes(bytes: Bytes, length: number): Uint8Array {
  const read = bytes.data.subarray(bytes.at, bytes.at + length);
  bytes.at += length;
  return read;
}

/** Whether something was read beyond the end. */
export function isOver({ data, at }: Bytes): boolean {
  return at > data.length;
}

/** Differences of both signs as whole numbers: small ones stay small. */
export function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

export function unzigzag(value: number): number {
  return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
}
