/** As much of DER (X.690) as a certificate needs. */

const lengthOf = (size: number): Buffer => {
  if (size < 0x80) return Buffer.from([size]);
  const bytes: number[] = [];
  for (let left = size; left > 0; left >>>= 8) bytes.unshift(left & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
};

export const tagged = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
};

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => tagged(0x31, ...parts);
export const octets = (content: Uint8Array): Buffer => tagged(0x04, content);
export const bits = (content: Uint8Array, unused = 0): Buffer => tagged(0x03, Buffer.from([unused]), content);
export const text = (content: string): Buffer => tagged(0x0c, Buffer.from(content, 'utf8'));
export const yes = (): Buffer => tagged(0x01, Buffer.from([0xff]));

/** Of a number that is not negative: as few bytes as will do, or one in 512 random numbers would be no DER. */
export const integer = (content: Uint8Array): Buffer => {
  const zeros = content.findIndex((byte) => byte !== 0);
  const digits = zeros === -1 ? Buffer.from([0]) : content.subarray(zeros);
  const first = digits[0] ?? 0;
  return tagged(0x02, first >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits);
};

export const oid = (dotted: string): Buffer => {
  const [a = 0, b = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [a * 40 + b];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
};

/** Years before 2050 as UTCTime, later ones as GeneralizedTime, as RFC 5280 wants it. */
export const time = (at: Date): Buffer => {
  const digits = at.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return at.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
};
