import { Refusal } from '../../shared/base/errors.ts';
import type { Clock } from '../../shared/base/time.ts';
import { type Queryable, type Sql, textsLiteral } from '../database/connect.ts';
import type { AccountSecrets } from '../people/secrets.ts';

const hexOf = (subjects: readonly Buffer[]): string => textsLiteral(subjects.map((subject) => subject.toString('hex')));

/** Counts a try of each subject, in one statement; gives how many there were in each one's window, and when that began. A window that began by `since` is over. */
export const countTries = async (
  sql: Queryable,
  tried: readonly { readonly subject: Buffer; readonly since: Date }[],
  now: Date,
): Promise<{ readonly subject: Buffer; readonly tries: number; readonly began_at: Date }[]> => {
  const subjects = hexOf(tried.map(({ subject }) => subject));
  const sinces = textsLiteral(tried.map(({ since }) => since.toISOString()));
  return sql<{ subject: Buffer; tries: number; began_at: Date }[]>`
    with tried as (select decode(h, 'hex') as subject, since from unnest(${subjects}::text[], ${sinces}::timestamptz[]) t (h, since))
    insert into attempts as a (subject, began_at, tries)
    select subject, ${now}, 1 from tried order by 1
    on conflict (subject) do update set (tries, began_at) = (
      select case when a.began_at <= t.since then 1 else a.tries + 1 end, case when a.began_at <= t.since then excluded.began_at else a.began_at end
      from tried t where t.subject = excluded.subject)
    returning subject, tries, began_at`;
};

/** What was proven was not guessed. */
export const forgetTries = async (sql: Queryable, subjects: readonly Buffer[]): Promise<void> => {
  await sql`delete from attempts where subject in (select decode(h, 'hex') from unnest(${hexOf(subjects)}::text[]) h)`;
};

const hourMs = 3_600_000;

/** Who tries at what, and how often they may within the window. */
export type Tried = {
  readonly what: string;
  readonly most: number;
  /** A window of its own. */
  readonly withinMs?: number;
  /** What to do when it was tried too often, other than wait. */
  readonly instead?: string;
};

/** So often within an hour. */
export const hourly = (what: string, most: number): Tried => ({ what, most, withinMs: hourMs });

/** Wrong passwords of an account from all hosts together: from then on it is entered by the link of a mail, which no one else can take away. */
export const failuresOf = (email: string): Tried => ({
  ...hourly(`passwords of ${email.trim().toLowerCase()} from everywhere`, 100),
  instead: 'Someone tries many passwords of this account. Ask for a link by mail (Forgot your password?), or sign in with a passkey.',
});

/** Tries at what can be guessed, counted in the database before anything is looked at, so that all coordinators count as one. */
export type Attempts = {
  /** @throws Refusal `too_many_attempts`, also when the try would have been right. */
  readonly count: (tried: readonly Tried[]) => Promise<void>;
  /** Whoever was right starts anew. */
  readonly forget: (tried: readonly Tried[]) => Promise<void>;
};

const usualWindowMs = 15 * 60_000;

export const createAttempts = (sql: Sql, clock: Clock, secrets: AccountSecrets, windowMs = usualWindowMs): Attempts => {
  const subjectsOf = (tried: readonly Tried[]): Promise<Buffer[]> =>
    Promise.all(tried.map(({ what }) => secrets.fingerprint('attempt', what)));
  return {
    count: async (tried) => {
      const now = clock.now();
      const subjects = await subjectsOf(tried);
      const windowOf = (one: Tried | undefined): number => one?.withinMs ?? windowMs;
      const counted = await countTries(
        sql,
        subjects.map((subject, place) => ({ subject, since: new Date(now - windowOf(tried[place])) })),
        new Date(now),
      );
      const triedAt = (subject: Buffer): Tried | undefined => tried[subjects.findIndex((one) => one.equals(subject))];
      const over = counted.filter(({ subject, tries }) => tries > (triedAt(subject)?.most ?? 0));
      if (over.length === 0) return;
      const instead = over.flatMap(({ subject }) => triedAt(subject)?.instead ?? [])[0];
      if (instead !== undefined) throw new Refusal('too_many_attempts', instead);
      const ends = Math.max(...over.map(({ subject, began_at }) => began_at.getTime() + windowOf(triedAt(subject))));
      const minutes = Math.max(1, Math.ceil((ends - now) / 60_000));
      throw new Refusal('too_many_attempts', `Too many tries; wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, then try again.`);
    },
    forget: async (tried) => forgetTries(sql, await subjectsOf(tried)),
  };
};

/** An address as far as one host of the Internet has it to itself: hosts have whole /64 networks of IPv6. */
export const hostOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const missing = 8 - groups.length - tail.split(':').filter((group) => group !== '').length;
  const whole = address.includes('::') ? [...groups, ...Array.from({ length: Math.max(0, missing) }, () => '0')] : groups;
  return whole.slice(0, 4).join(':');
};
