import { createHash, randomBytes } from 'node:crypto';

/** A fresh heartbeat token: 144 random bits, as 24 characters that need no escaping in an address. */
export const newPingToken = (): string => randomBytes(18).toString('base64url');

/**
 * The key of a token on the bus and in the database: 64 hex digits of SHA-256. No secret goes in, so that a ping receiver far from the
 * coordinator can compute it; a token of 144 random bits cannot be guessed back from it.
 */
export const pingFingerprint = (token: string): string => createHash('sha256').update(token).digest('hex');

/** How long a rotated-out token still counts, unless less is asked for, so that jobs can be moved to the new address one by one. */
export const tokenOverlapMs = 24 * 3_600_000;
