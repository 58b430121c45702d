import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Log } from '../../../shared/base/log.ts';
import type { Clock } from '../../../shared/base/time.ts';
import type { Sql } from '../../database/connect.ts';
import { type Attempts, hostOf } from '../../gate/attempts.ts';
import type { TextRecords } from '../../outbound/documents.ts';
import { verifyPassword } from '../../people/secrets.ts';
import type { AccountSecrets } from '../../secrets/account-secrets.ts';
import { proofRecordName, proofRecordText } from '../model.ts';
import { domainsToProve, writeDomainCheck } from '../queries.ts';
import type { ReadPage } from './queries.ts';

/**
 * Domains of status pages are proved again each week: an expired domain may belong to someone else
 * by now.
 *
 * When the record was not found for 30 days, the page is no longer shown there, and others may
 * prove the domain.
 */
const day = 86_400_000;
const againAfterMs = 7 * day;
/** A record that is missing for a while does not take a page offline. */
const letGoAfterMs = 30 * day;
const atOnce = 50;

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly textRecords: TextRecords;
  readonly isLeader: () => boolean;
};

export function createDomainProofs({ sql, clock, log, textRecords, isLeader }: Dependencies): {
  readonly tick: () => Promise<void>;
} {
  return {
    tick: async () => {
      if (!isLeader()) return;
      const now = clock.now();
      for (const { id, domain, domain_token, seen_at, checked_at } of await domainsToProve(
        sql,
        now - againAfterMs,
        atOnce,
      )) {
        const isFound = (await textRecords(proofRecordName(domain))).includes(
          proofRecordText(domain_token),
        );
        // After a time without checks the month begins now: one failed lookup does not take a page
        // offline.
        const isFirst = checked_at === null || now - checked_at > 2 * againAfterMs;
        const isOver = !isFound && !isFirst && now - seen_at > letGoAfterMs;
        await writeDomainCheck(sql, id, {
          domain,
          at: now,
          isSeen: isFound || isFirst,
          isOver,
        });
        if (isOver)
          log.warn(
            { page: id, domain },
            'removed the domain of a status page: not verified for a month',
          );
      }
    },
  };
}

/**
 * The secret in the link of a private status page: long enough for a plain hash of it to reveal
 * nothing.
 */
export function newPageKey(): string {
  return randomBytes(24).toString('base64url');
}

const shape = /^[A-Za-z0-9_-]{32}$/;

/** The stored fingerprint; undefined for a text that was never a key. */
export function pageKeyFingerprint(text: string): Buffer | undefined {
  return shape.test(text) ? createHash('sha256').update(`status page ${text}`).digest() : undefined;
}

/**
 * The cookie of a browser with access to a private page. It is the page's only cookie, limited to
 * its path.
 */
export const entryName = 'page_entry';

const seconds = 30 * 86_400;

export function entryCookie(
  value: string,
  { path, secure }: { readonly path: string; readonly secure: boolean },
): string {
  return `${entryName}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
}

/** For an uncacheable redirect whose request had a secret in its address. */
export const cleared = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
  'x-content-type-options': 'nosniff',
} as const;

/** Decides who may see a private page. */
export type PageAccess = {
  /** Whether the browser's cookie was issued here, for the present password or link. */
  readonly isIn: (read: ReadPage, brought: string | undefined) => Promise<boolean>;
  /**
   * The cookie for a browser that sent the password; undefined when it is wrong. @throws Refusal
   * `too_many_attempts`.
   */
  readonly byPassword: (
    read: ReadPage,
    password: string,
    address: string,
  ) => Promise<string | undefined>;
  readonly byLink: (read: ReadPage, key: string) => Promise<string | undefined>;
};

/** Longer texts cannot be a page's password, and would take time to hash. */
const longestPassword = 200;

export function createPageAccess({
  accountSecrets,
  attempts,
}: {
  readonly accountSecrets: AccountSecrets;
  readonly attempts: Attempts;
}): PageAccess {
  const entryOf = ({ id, lock }: ReadPage): Promise<Buffer> =>
    accountSecrets.fingerprint('page entry', `${id} ${lock.access} ${lock.version}`);
  const giveEntry = async (read: ReadPage): Promise<string> =>
    (await entryOf(read)).toString('base64url');
  return {
    isIn: async (read, brought) => {
      if (read.lock.access === 'public') return true;
      return (
        brought !== undefined && isSame(Buffer.from(brought, 'base64url'), await entryOf(read))
      );
    },
    byPassword: async (read, password, address) => {
      if (read.lock.access !== 'password') return undefined;
      const tried = [
        { what: `password of page ${read.id} from ${hostOf(address)}`, most: 10 },
        { what: `passwords of pages from ${hostOf(address)}`, most: 60 },
      ];
      await attempts.count(tried);
      const isRight =
        password.length <= longestPassword &&
        (await verifyPassword(password, read.lock.passwordHash));
      if (!isRight) return undefined;
      await attempts.forget(tried.slice(0, 1));
      return giveEntry(read);
    },
    byLink: async (read, key) => {
      const fingerprint = pageKeyFingerprint(key);
      const { access, linkFingerprint } = read.lock;
      if (access !== 'link' || fingerprint === undefined || linkFingerprint === null)
        return undefined;
      return isSame(fingerprint, linkFingerprint) ? giveEntry(read) : undefined;
    },
  };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
