import { hkdfSync } from 'node:crypto';
import { hasSignature, isSignedBy, signaturesOf } from './identity.ts';
import type { Headers, Message } from './messages.ts';
import { type Key, keyFromBytes } from './nkeys.ts';

/**
 * An announcement: what a coordinator sends to probes and to other coordinators. The subject of a
 * message proves nothing about its sender, because the bus's server publishes answers wherever a
 * request asks for them. So every announcement is signed, over its kind, its subject, a revision
 * that only grows, and its bytes. It cannot be forged, moved to another subject, or replayed when
 * something newer is known.
 */
const revisionHeader = 'Revision';

/** Whether a message on this subject is an announcement when a coordinator sends it. */
export function isAnnounced(subject: string): boolean {
  return kindOf(subject) !== undefined;
}

/** What is announced, by the first token of its subject. */
const kinds: Readonly<Record<string, string>> = {
  assign: 'assignment',
  roster: 'roster',
  look: 'recheck',
  receipt: 'receipt',
  beatkey: 'ping key',
  presence: 'presence',
  test: 'test run',
};

function kindOf(subject: string): string | undefined {
  const end = subject.indexOf('.');
  return kinds[end < 0 ? subject : subject.slice(0, end)];
}

export type Announcement = { readonly subject: string; readonly data: Uint8Array | string };

/**
 * Returns the headers of each announcement, in order. Announcements that leave together share a
 * signature.
 */
export type Announce = (messages: readonly Announcement[]) => readonly Headers[];

/**
 * Every coordinator has the same keys, because they are derived from SECRET_KEY; the newest is
 * first.
 */
export function announcementKeys(secretKeys: readonly string[]): readonly Key[] {
  return secretKeys.map((secret) =>
    keyFromBytes('user', Buffer.from(hkdfSync('sha256', secret, '', 'antipode announcements', 32))),
  );
}

export function createAnnounce(keys: readonly Key[], now: () => number): Announce {
  let last = 0;
  return (messages) => {
    last = Math.max(last, Math.floor(now()));
    const revision = String(last);
    const signatures = signaturesOf(
      keys,
      messages.map(({ subject, data }) => statementOf(subject, revision, data)),
    );
    return signatures.map((headers) => ({ ...headers, [revisionHeader]: revision }));
  };
}

function statementOf(subject: string, revision: string, data: Uint8Array | string): Uint8Array {
  return Buffer.concat([
    Buffer.from(`antipode ${kindOf(subject)} ${subject} ${revision}\n`),
    bytesOf(data),
  ]);
}

function bytesOf(data: Uint8Array | string): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

type AnnouncementVerdict =
  | { readonly is: 'accepted'; readonly revision: number }
  | { readonly is: 'refused'; readonly why: 'not_signed' | 'wrong_signature' };

/**
 * Judges a message by the keys of those whose announcements count; an answer is judged by the
 * subject of its request.
 */
export function judgeAnnouncement(
  trusted: readonly string[],
  message: Pick<Message, 'data' | 'header'>,
  subject: string,
): AnnouncementVerdict {
  if (!hasSignature(message)) return { is: 'refused', why: 'not_signed' };
  const revision = message.header(revisionHeader) ?? '';
  const signed = { header: message.header, data: statementOf(subject, revision, message.data) };
  if (!/^\d{1,15}$/.test(revision) || !isSignedBy(trusted, signed))
    return { is: 'refused', why: 'wrong_signature' };
  return { is: 'accepted', revision: Number(revision) };
}

/**
 * How much coordinators' clocks may differ: a message that is older by less may be another's newer
 * one.
 */
const clockToleranceMs = 5_000;
/** A revision further ahead came from a wrong clock and does not count. */
export const maxAheadMs = 60_000;

/** Whether an announcement is older than the one held. */
export function isOutdated(revision: number, held: number, now: number): boolean {
  return revision < held - clockToleranceMs && held <= now + maxAheadMs;
}

/** `outdated`: older than the one held; `ahead`: too far ahead of the clock. */
export type RefusedAnnouncement =
  | Extract<AnnouncementVerdict, { is: 'refused' }>['why']
  | 'outdated'
  | 'ahead';
