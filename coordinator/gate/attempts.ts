import { Refusal } from '../../shared/base/errors.ts';
import { type Clock, isoText } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import type { AccountSecrets } from '../secrets/account-secrets.ts';

/**
 * Counts one attempt per subject, in one statement. Returns each subject's count and the start of
 * its window. A window that began by `since` is over.
 */
async function countAttempts(
  sql: Queryable,
  tried: readonly { readonly subject: Buffer; readonly since: number }[],
  now: number,
): Promise<{ readonly subject: Buffer; readonly tries: number; readonly began_at: number }[]> {
  const subjects = hexOf(tried.map(({ subject }) => subject));
  const sinces = tried.map(({ since }) => isoText(since));
  return sql<{ subject: Buffer; tries: number; began_at: number }[]>`
    with tried as (select decode(h, 'hex') as subject, since
      from unnest(${subjects}::text[], ${sinces}::timestamptz[]) t (h, since))
    insert into attempts as a (subject, began_at, tries)
    select subject, ${new Date(now)}, 1 from tried order by 1
    on conflict (subject) do update set (tries, began_at) = (
      select case when a.began_at <= t.since then 1 else a.tries + 1 end, case
        when a.began_at <= t.since then excluded.began_at else a.began_at end
      from tried t where t.subject = excluded.subject)
    returning subject, tries, began_at`;
}

function hexOf(subjects: readonly Buffer[]): string[] {
  return subjects.map((subject) => subject.toString('hex'));
}

/** A proven attempt was not a guess, so it does not count. */
async function forgetAttempts(sql: Queryable, subjects: readonly Buffer[]): Promise<void> {
  await sql`delete from attempts
    where subject in (select decode(h, 'hex') from unnest(${hexOf(subjects)}::text[]) h)`;
}

const hourMs = 3_600_000;

/** A subject and its limit of attempts within a window. */
export type AttemptLimit = {
  readonly what: string;
  readonly most: number;
  /** Replaces the default window. */
  readonly withinMs?: number;
  /** What to do other than wait, when there were too many attempts. */
  readonly instead?: string;
};

/** A limit per hour. */
export function hourly(what: string, limit: number): AttemptLimit {
  return {
    what,
    most: limit,
    withinMs: hourMs,
  };
}

/**
 * Wrong passwords of one account from all hosts together. Above the limit, signing in needs the
 * link of a mail, which no one else can block.
 */
export function failuresOf(email: string): AttemptLimit {
  return {
    ...hourly(`passwords of ${email.trim().toLowerCase()} from everywhere`, 100),
    instead:
      'Someone tries many passwords of this account. Ask for a link by mail (Forgot your password?), or sign in with a passkey.',
  };
}

/**
 * Attempts at what can be guessed. They are counted in the database before anything is checked, so
 * all coordinators share one count.
 */
export type Attempts = {
  /** @throws Refusal `too_many_attempts`, even when the attempt would have been right. */
  readonly count: (tried: readonly AttemptLimit[]) => Promise<void>;
  /** A right attempt resets the count. */
  readonly forget: (tried: readonly AttemptLimit[]) => Promise<void>;
};

const usualWindowMs = 15 * 60_000;

export function createAttempts(
  sql: Sql,
  clock: Clock,
  secrets: AccountSecrets,
  windowMs = usualWindowMs,
): Attempts {
  const subjectsOf = (tried: readonly AttemptLimit[]): Promise<Buffer[]> =>
    Promise.all(tried.map(({ what }) => secrets.fingerprint('attempt', what)));
  return {
    count: async (tried) => {
      const now = clock.now();
      const subjects = await subjectsOf(tried);
      const windowOf = (one: AttemptLimit | undefined): number => one?.withinMs ?? windowMs;
      const counted = await countAttempts(
        sql,
        subjects.map((subject, place) => ({
          subject,
          since: now - windowOf(tried[place]),
        })),
        now,
      );
      const triedAt = (subject: Buffer): AttemptLimit | undefined =>
        tried[subjects.findIndex((one) => one.equals(subject))];
      const over = counted.filter(({ subject, tries }) => tries > (triedAt(subject)?.most ?? 0));
      if (over.length === 0) return;
      const instead = over.flatMap(({ subject }) => triedAt(subject)?.instead ?? [])[0];
      if (instead !== undefined) throw new Refusal('too_many_attempts', instead);
      const ends = Math.max(
        ...over.map(({ subject, began_at }) => began_at + windowOf(triedAt(subject))),
      );
      const minutes = Math.max(1, Math.ceil((ends - now) / 60_000));
      throw new Refusal(
        'too_many_attempts',
        `Too many tries; wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, then try again.`,
        { waitS: Math.max(1, Math.ceil((ends - now) / 1_000)) },
      );
    },
    forget: async (tried) => forgetAttempts(sql, await subjectsOf(tried)),
  };
}

/** The part of an address that belongs to one host: for IPv6 a whole /64 network. */
export function hostOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const missing = 8 - groups.length - tail.split(':').filter((group) => group !== '').length;
  const whole = address.includes('::')
    ? [...groups, ...Array.from({ length: Math.max(0, missing) }, () => '0')]
    : groups;
  return whole.slice(0, 4).join(':');
}
