import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Codes of an app on somebody's phone, as RFC 6238 has them and every such app understands: six digits, half a minute, SHA-1. */

const stepMs = 30_000;
const secretBytes = 20;
/** Clocks of phones differ, and typing takes a while: the code before and the one after are taken, too. */
const nearby = [0, -1, 1];

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

const base32 = (bytes: Uint8Array): string => {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet.charAt(Number.parseInt(five.padEnd(5, '0'), 2))).join('');
};

const bytesOf = (text: string): Buffer => {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
};

/** 160 random bits, as apps take them. */
export const newTotpSecret = (): string => base32(randomBytes(secretBytes));

/** Whether it is one that newTotpSecret() could have made. */
export const isTotpSecret = (text: string): boolean => /^[A-Z2-7]{32}$/.test(text);

/** What the picture says to the app. */
export const totpAddress = (secret: string, email: string): string =>
  `otpauth://totp/Antipode:${encodeURIComponent(email)}?secret=${secret}&issuer=Antipode&algorithm=SHA1&digits=6&period=30`;

/** The code of a half minute, counted from 1970. */
export const codeOf = (secret: string, step: number): string => {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const tag = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const at = tag.readUInt8(tag.length - 1) & 15;
  return String((tag.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
};

export const stepAt = (now: number): number => Math.floor(now / stepMs);

/** The half minute that a code is of, if it is of one that is near. */
export const stepOfCode = (secret: string, code: string, now: number): number | undefined => {
  if (!/^\d{6}$/.test(code)) return undefined;
  const typed = Buffer.from(code);
  return nearby.map((away) => stepAt(now) + away).find((step) => timingSafeEqual(typed, Buffer.from(codeOf(secret, step))));
};
