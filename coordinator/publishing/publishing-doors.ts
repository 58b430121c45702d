import { timingSafeEqual } from 'node:crypto';
import type { AccountSecrets } from '../access/access-account-secrets.ts';
import { type Attempts, hostOf } from '../access/access-attempts.ts';
import { verifyPassword } from '../access/access-passwords.ts';
import { pageKeyFingerprint } from '../access/access-status-page-keys.ts';
import type { ReadPage } from './publishing-read-page.ts';

/** Who is let in to a private page. */
export type Doors = {
  /** Whether what a browser brought along was given to it here, for the way in as it is now. */
  readonly isIn: (read: ReadPage, brought: string | undefined) => Promise<boolean>;
  /** What to give to a browser that knows the password; undefined when it does not. @throws Refusal `too_many_attempts`. */
  readonly byPassword: (read: ReadPage, password: string, address: string) => Promise<string | undefined>;
  readonly byLink: (read: ReadPage, key: string) => Promise<string | undefined>;
};

const isSame = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

/** Longer is no password of a page, and would cost time to hash. */
const longestPassword = 200;

export const createDoors = ({
  accountSecrets,
  attempts,
}: {
  readonly accountSecrets: AccountSecrets;
  readonly attempts: Attempts;
}): Doors => {
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
