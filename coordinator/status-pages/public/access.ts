import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Attempts, hostOf } from '../../gate/attempts.ts';
import { type AccountSecrets, verifyPassword } from '../../people/secrets.ts';
import type { ReadPage } from './queries.ts';

/**
 * The secret in the link of a private status page: long enough for a plain hash of it to reveal
 * nothing.
 */
export const newPageKey = (): string => randomBytes(24).toString('base64url');

const shape = /^[A-Za-z0-9_-]{32}$/;

/** The stored fingerprint; undefined for a text that was never a key. */
export const pageKeyFingerprint = (text: string): Buffer | undefined =>
  shape.test(text) ? createHash('sha256').update(`status page ${text}`).digest() : undefined;

/**
 * The cookie of a browser with access to a private page. It is the page's only cookie, limited to
 * its path.
 */
export const entryName = 'page_entry';

const seconds = 30 * 86_400;

export const entryCookie = (value: string, { path, secure }: { readonly path: string; readonly secure: boolean }): string =>
  `${entryName}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;

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
  readonly byPassword: (read: ReadPage, password: string, address: string) => Promise<string | undefined>;
  readonly byLink: (read: ReadPage, key: string) => Promise<string | undefined>;
};

const isSame = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

/** Longer texts cannot be a page's password, and would take time to hash. */
const longestPassword = 200;

export const createPageAccess = ({
  accountSecrets,
  attempts,
}: {
  readonly accountSecrets: AccountSecrets;
  readonly attempts: Attempts;
}): PageAccess => {
  const entryOf = ({ id, lock }: ReadPage): Promise<Buffer> =>
    accountSecrets.fingerprint('page entry', `${id} ${lock.access} ${lock.version}`);
  const giveEntry = async (read: ReadPage): Promise<string> => (await entryOf(read)).toString('base64url');
  return {
    isIn: async (read, brought) => {
      if (read.lock.access === 'public') return true;
      return brought !== undefined && isSame(Buffer.from(brought, 'base64url'), await entryOf(read));
    },
    byPassword: async (read, password, address) => {
      if (read.lock.access !== 'password') return undefined;
      const tried = [
        { what: `password of page ${read.id} from ${hostOf(address)}`, most: 10 },
        { what: `passwords of pages from ${hostOf(address)}`, most: 60 },
      ];
      await attempts.count(tried);
      const isRight = password.length <= longestPassword && (await verifyPassword(password, read.lock.passwordHash));
      if (!isRight) return undefined;
      await attempts.forget(tried.slice(0, 1));
      return giveEntry(read);
    },
    byLink: async (read, key) => {
      const fingerprint = pageKeyFingerprint(key);
      const { access, linkFingerprint } = read.lock;
      if (access !== 'link' || fingerprint === undefined || linkFingerprint === null) return undefined;
      return isSame(fingerprint, linkFingerprint) ? giveEntry(read) : undefined;
    },
  };
};
