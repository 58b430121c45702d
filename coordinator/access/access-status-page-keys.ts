import { createHash, randomBytes } from 'node:crypto';

/** The secret in the link of a private status page: long enough that a plain hash of it tells nothing. */
export const newPageKey = (): string => randomBytes(24).toString('base64url');

const shape = /^[A-Za-z0-9_-]{32}$/;

/** What is kept of it; undefined for what never was one. */
export const pageKeyFingerprint = (text: string): Buffer | undefined =>
  shape.test(text) ? createHash('sha256').update(`status page ${text}`).digest() : undefined;

/** Where the record that proves a domain stands: beside the name itself, which may be an alias and then bears no other record. */
export const proofRecordName = (domain: string): string => `_antipode.${domain}`;
export const proofRecordText = (token: string): string => `antipode-status-page=${token}`;
