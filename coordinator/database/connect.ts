import pg from 'pg';
import { codeOf } from '../../shared/base/errors.ts';
import { Listener } from './listener.ts';
import { ended, Session, type SessionOptions } from './session.ts';
import { createQueryable, type Part, type Query, type Queryable, type Rows } from './statement.ts';

export type { Queryable } from './statement.ts';

/** Statements on a pool of connections, each on one that is free. */
export type Sql = Queryable & {
  readonly begin: {
    <Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
    /** `mode`: how the transaction begins, in SQL. */
    <Result>(mode: string, work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  };
  /** Lets what runs come to its end, for at most `timeout` seconds. */
  readonly end: (how?: { readonly timeout: number }) => Promise<void>;
  readonly access: Access;
};

/** The other ways to the database of a pool. */
type Access = {
  readonly sessions: Sessions;
  readonly listener: Listener;
  /** One connection of its own, to test whether the database answers. */
  readonly openAnother: () => Sql;
  /** One connection outside the pool, closed with its sessions. */
  readonly openDedicated: () => Sql;
  /** One connection for urgent work. */
  readonly openSlot: () => CommitSlot;
  readonly openLongRunning: () => Sql;
  /** One connection whose transactions may COPY. */
  readonly openCopying: () => Sql;
};

/** One transaction on one connection. */
export type Transaction = Queryable & { readonly session: Session };

/** A statement that is not sent yet. Only `execute` sends it. */
export type Statement = Pick<Query, 'execute'>;

/** Pipelines the statements; they run in this order. */
export async function executeAll(statements: readonly Statement[]): Promise<void> {
  await Promise.all(statements.map((statement) => statement.execute()));
}

/**
 * The time limit of a statement on the server, and the silence after which its connection is given
 * up.
 */
type StartupTimeout = { readonly statementMs: number; readonly silentMs: number };

/** Each statement of a coordinator is one of many: none takes long. */
const usual: StartupTimeout = { statementMs: 20_000, silentMs: 25_000 };

/** For work on everything, such as a migration, a backup or a restore. */
export const longWork: StartupTimeout = {
  statementMs: 6 * 3_600_000,
  silentMs: 6 * 3_600_000 + 60_000,
};

/** For background work on many rows. */
const maintenanceSettings: StartupTimeout = { statementMs: 600_000, silentMs: 660_000 };

type ConnectOptions = {
  readonly name: string;
  readonly connections?: number;
  readonly patience?: StartupTimeout;
};

/**
 * Connects lazily: the first query opens the first connection, and a lost one is replaced by the
 * next query. bigint comes as a number, a moment as epoch milliseconds.
 */
export function connect(url: string, options: ConnectOptions = { name: 'antipode' }): Sql {
  const { name, connections = 10, patience = usual } = options;
  const openerFor = createOpeners(url, name);
  const own = openerFor(patience);
  const listener = new Listener(own.open);
  const access: Access = {
    sessions: own.sessions,
    listener,
    openAnother: () => poolWith(openerFor(patience), 1, access),
    openDedicated: () => poolWith(own, 1, access),
    openSlot: () => new CommitSlot(own.open),
    openLongRunning: () => poolWith(openerFor(maintenanceSettings), 1, access),
    openCopying: () => poolWith(openerFor(longWork, true), 1, access),
  };
  return poolWith(own, connections, access, () => listener.end());
}

type Opener = { readonly sessions: Sessions; readonly open: () => Promise<Session> };

/** Where sessions are opened: several hosts are tried in turn. */
function createOpeners(url: string, name: string) {
  const { hosts, ...target } = targetOf(url);
  let turn = 0;
  return ({ statementMs, silentMs }: StartupTimeout, copies = false): Opener => {
    const sessions = new Sessions();
    const open = async (): Promise<Session> => {
      const host = hosts[turn % hosts.length] ?? {};
      turn += 1;
      const session = await Session.open({
        ...target,
        ...host,
        name,
        statementMs,
        silentMs,
        copies,
      });
      sessions.add(session);
      return session;
    };
    return { sessions, open };
  };
}

type Target = Pick<SessionOptions, 'user' | 'password' | 'database' | 'tls' | 'isDirect'> & {
  readonly hosts: readonly Pick<SessionOptions, 'host' | 'port'>[];
};

/**
 * The database's address may name several hosts, or a socket in place of a host. What it leaves
 * out, the client takes from the environment.
 */
function targetOf(url: string): Target {
  const [, user = '', authority = '', rest = ''] =
    /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^/?]*)(.*)$/s.exec(url) ?? [];
  const { username, password, pathname, searchParams } = new URL(`postgres://${user}@host${rest}`);
  const names = searchParams.get('host') ?? authority;
  return {
    user: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password) || undefined,
    database: decodeURIComponent(pathname.slice(1)) || undefined,
    tls: tlsOf(searchParams.get('sslmode') ?? searchParams.get('ssl')),
    isDirect: searchParams.get('sslnegotiation') === 'direct',
    hosts: names.split(',').map((each) => {
      const [, host, port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(each) ?? [];
      return { host: host || undefined, port: port === undefined ? undefined : Number(port) };
    }),
  };
}

function tlsOf(mode: string | null): SessionOptions['tls'] {
  if (mode === null) return undefined;
  if (mode === 'disable' || mode === 'false') return false;
  return { rejectUnauthorized: !['require', 'allow', 'prefer', 'no-verify'].includes(mode) };
}

/** The open sessions of a pool and of what was opened beside it. */
class Sessions {
  readonly #open = new Set<Session>();
  #answeredAt = 0;

  add(session: Session): void {
    this.#open.add(session);
    session.lost.catch(() => {
      this.#answeredAt = Math.max(this.#answeredAt, session.answeredAt);
      this.#open.delete(session);
    });
  }

  /** When the database last answered, by performance.now(). */
  answeredAt(): number {
    return Math.max(this.#answeredAt, ...[...this.#open].map(({ answeredAt }) => answeredAt));
  }

  /** How much each has received. */
  received(): ReadonlyMap<Session, number> {
    return new Map([...this.#open].map((session) => [session, session.received]));
  }

  /** Cuts those that received nothing since then, and returns how many. */
  cutSilent(since: ReadonlyMap<Session, number>): number {
    const silent = [...since].filter(
      ([session, bytes]) => !session.isLost && session.received === bytes,
    );
    for (const [session] of silent) session.destroy();
    return silent.length;
  }
}

/** A session that no one uses is ended after this time, and one of this age after its use. */
const idleMs = 60_000;
const oldMs = 45 * 60_000;

/** Sessions that are lent to one user at a time. */
class Pool {
  readonly #open: () => Promise<Session>;
  readonly #most: number;
  readonly #lent = new Set<Session>();
  readonly #idle = new Map<Session, NodeJS.Timeout>();
  readonly #waiting: PromiseWithResolvers<Session>[] = [];
  #opening = 0;
  #isOver = false;
  readonly #empty = Promise.withResolvers<void>();

  constructor(open: () => Promise<Session>, most: number) {
    this.#open = open;
    this.#most = most;
  }

  async borrow(): Promise<Session> {
    if (this.#isOver) throw ended();
    const [last] = [...this.#idle.keys()].slice(-1);
    if (last) {
      clearTimeout(this.#idle.get(last));
      this.#idle.delete(last);
      if (last.isLost) return this.borrow();
      this.#lent.add(last);
      return last;
    }
    if (this.#lent.size + this.#opening < this.#most) return this.#another();
    const turn = Promise.withResolvers<Session>();
    this.#waiting.push(turn);
    return turn.promise;
  }

  giveBack(session: Session): void {
    this.#lent.delete(session);
    const isOld = performance.now() - session.openedAt > oldMs;
    if (this.#isOver || isOld) this.#end(session);
    const next = session.isLost ? undefined : this.#waiting.shift();
    if (next) {
      this.#lent.add(session);
      next.resolve(session);
    } else if (!session.isLost)
      this.#idle.set(
        session,
        setTimeout(() => {
          this.#idle.delete(session);
          this.#end(session);
        }, idleMs).unref(),
      );
    this.#goOn();
  }

  async end(timeout?: number): Promise<void> {
    this.#isOver = true;
    for (const { reject } of this.#waiting.splice(0)) reject(ended());
    const idle = [...this.#idle.keys()];
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
    const late =
      timeout === undefined
        ? undefined
        : setTimeout(() => {
            for (const session of this.#lent) session.destroy(ended());
          }, timeout * 1_000);
    this.#goOn();
    await Promise.all([...idle.map((session) => session.end()), this.#empty.promise]);
    clearTimeout(late);
  }

  async #another(): Promise<Session> {
    this.#opening += 1;
    try {
      const session = await this.#open();
      if (this.#isOver) {
        session.destroy(ended());
        throw ended();
      }
      this.#lent.add(session);
      return session;
    } finally {
      this.#opening -= 1;
      this.#goOn();
    }
  }

  /** A session was lost or could not be opened: whoever waits may open one. */
  #goOn(): void {
    if (this.#isOver && this.#lent.size + this.#opening === 0) this.#empty.resolve();
    while (this.#waiting.length > 0 && this.#lent.size + this.#opening < this.#most) {
      const next = this.#waiting.shift();
      if (next) this.#another().then(next.resolve, next.reject);
    }
  }

  /** Its end is not waited for: nothing is open on it. */
  #end(session: Session): void {
    void session.end();
  }
}

function poolWith(
  { open }: Opener,
  connections: number,
  access: Access,
  endMore: () => void = () => undefined,
): Sql {
  const pool = new Pool(open, connections);
  const queryable = createQueryable(async (part) => {
    const session = await pool.borrow();
    try {
      return await run(session, part);
    } finally {
      pool.giveBack(session);
    }
  });
  async function begin<Result>(
    ...[first, second]:
      | [work: (transaction: Transaction) => Promise<Result>]
      | [mode: string, work: (transaction: Transaction) => Promise<Result>]
  ): Promise<Result> {
    const [mode, work] = typeof first === 'string' ? [first, second] : ['', first];
    if (!work) throw new TypeError('a transaction without work');
    const session = await pool.borrow();
    try {
      return await transact(session, mode, work);
    } finally {
      pool.giveBack(session);
    }
  }
  return Object.assign(queryable, {
    access,
    begin,
    end: (how?: { readonly timeout: number }) => {
      endMore();
      return pool.end(how?.timeout);
    },
  });
}

/**
 * The caller learns at once when the connection is lost, also while the work waits for something
 * else, such as the bus.
 */
async function transact<Result>(
  session: Session,
  mode: string,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  await session.run(`begin ${mode}`);
  let isOver = false;
  const queryable = createQueryable(async (part) => {
    if (isOver) throw new Error('the transaction is over');
    return run(session, part);
  });
  try {
    const result = await Promise.race([work(Object.assign(queryable, { session })), session.lost]);
    isOver = true;
    await commit(session);
    return result;
  } catch (error) {
    isOver = true;
    await undo(session);
    throw error;
  }
}

/** What is lost with its connection, the server has rolled back by itself. */
async function undo(session: Session): Promise<void> {
  if (session.isLost) return;
  try {
    await session.run('rollback');
  } catch (error) {
    if (!session.isLost) throw error;
  }
}

/** @throws also when a statement of the transaction had failed before. */
async function commit(session: Session): Promise<void> {
  const { command } = await session.run('commit');
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
}

async function run<Row extends readonly unknown[]>(
  session: Session,
  part: Part,
): Promise<Rows<Row>> {
  const { text, values, isPrepared } = part.write();
  try {
    const answer = await session.run(text, values, isPrepared ? nameOf(text) : undefined);
    const { rowCount: count } = answer;
    const rows: unknown = Object.defineProperty(answer.rows, 'count', { value: count ?? 0 });
    // Whoever writes a statement says what rows it returns.
    return rows as Rows<Row>;
  } catch (error) {
    // A newer version's migration changed a table under a prepared statement.
    if (codeOf(error) === '0A000') names.delete(text);
    throw error;
  }
}

/**
 * A statement of one of these texts is prepared by its first use on a session. Texts that are made
 * of what someone asks for could be without number.
 */
const names = new Map<string, string>();
const maxNames = 2_000;
let named = 0;

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= maxNames) return known;
  named += 1;
  const name = `s${named}`;
  names.set(text, name);
  return name;
}

/**
 * One connection for urgent work. A whole transaction is sent at once, with its begin and commit,
 * and the database answers it in one round trip. In a pool it may have to wait for its turn, or for
 * a new connection.
 */
export class CommitSlot {
  readonly #open: () => Promise<Session>;
  #held: Promise<Session> | undefined;

  constructor(open: () => Promise<Session>) {
    this.#open = open;
  }

  /**
   * A transaction of statements that do not need each other's results. @throws the error of the
   * first statement that failed by itself. Then nothing is written, unless the connection was lost
   * with the answer.
   */
  async inOneTrip(statements: (sql: Queryable) => readonly Statement[]): Promise<void> {
    const session = await this.#hold();
    // All are built before the first is sent: one that cannot be built leaves no half of a
    // transaction.
    const all = statements(createQueryable((part) => run(session, part)));
    const outcomes = await Promise.allSettled([
      session.run('begin'),
      ...all.map((statement) => statement.execute()),
      commit(session),
    ]);
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    const cause = failed.find(({ reason }) => !isFollowing(reason)) ?? failed[0];
    if (cause) throw cause.reason;
  }

  /** One query outside of any transaction. */
  async ask<Answer>(question: (sql: Queryable) => Promise<Answer>): Promise<Answer> {
    const session = await this.#hold();
    return await question(createQueryable((part) => run(session, part)));
  }

  /** Connects, so that the first use is fast. */
  async prepare(): Promise<void> {
    await this.#hold();
  }

  async end(): Promise<void> {
    const session = await this.#held?.catch(() => undefined);
    await session?.end();
  }

  #hold(): Promise<Session> {
    if (this.#held) return this.#held;
    const mine = this.#open();
    const forget = (): void => {
      if (this.#held === mine) this.#held = undefined;
    };
    mine.then(({ lost }) => lost).catch(forget);
    this.#held = mine;
    return mine;
  }
}

/** A statement after a failed one of the same transaction fails only because of that. */
function isFollowing(error: unknown): boolean {
  return codeOf(error) === '25P02';
}

/** Whether an error is the violation of the constraint or index of this name. */
export function isViolationOf(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.constraint === constraint;
}

/**
 * The database's error classes that say nothing about what was written: connection, a table changed
 * by a migration, resources, shutdown, rollback by conflict, disk.
 */
const transient = ['08', '0A', '25', '40', '53', '55', '57', '58', 'XX'];

/**
 * Whether the same write may succeed later. Then its outcome may also be unknown: the connection
 * can break after the server committed. The database refused all else because of what was written.
 */
export function isTransient(error: unknown): boolean {
  return error instanceof pg.DatabaseError
    ? transient.includes(codeOf(error).slice(0, 2))
    : error instanceof Error && 'code' in error;
}

/**
 * When the query was sent and answered, by performance.now(), and the database's clock at that
 * time.
 */
type TimeSeen = { readonly sent: number; readonly received: number; readonly theirs: number };

export async function timeOf(sql: Sql): Promise<TimeSeen> {
  const sent = performance.now();
  const [row] = await sql<
    { theirs: number }[]
  >`select (extract(epoch from clock_timestamp()) * 1000)::float8 as theirs`;
  if (!row) throw new Error('the database did not say what time it is');
  return { sent, received: performance.now(), theirs: row.theirs };
}

/** Whether the database answers within this time. `onTime` receives the time there. */
export async function answersWithin(
  sql: Sql,
  patienceMs: number,
  onTime?: (seen: TimeSeen) => void,
): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), patienceMs);
  const answer = timeOf(sql).then(
    (seen) => {
      onTime?.(seen);
      return true;
    },
    () => false, // No answer is a result; the log of the code that needed it has the reason.
  );
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

export function answersSoon(sql: Sql): Promise<boolean> {
  return answersWithin(sql, 2_000);
}

const name = 'antipode coordinator';

/**
 * The name of a coordinator's connections, with a mark of each SECRET_KEY that it knows. A
 * replacement of the key sees from it which coordinators it would lock out.
 */
export function sessionNameOf(keyMarks: readonly string[]): string {
  return [name, ...keyMarks].join(' ');
}

/**
 * Addresses of connected coordinators that do not know the key of this mark; those of an earlier
 * version do not report what they know. One that has sent nothing for a minute is gone with its
 * machine, which the database may notice hours later.
 */
export async function addressesWithoutKey(
  sql: Queryable,
  keyMark: string,
): Promise<readonly string[]> {
  const rows = await sql<{ address: string }[]>`
    select distinct coalesce(host(client_addr), 'this machine') as address from pg_stat_activity
    where datname = current_database()
      and split_part(application_name, ' ', 1) || ' '
        || split_part(application_name, ' ', 2) = ${name}
      and not ${keyMark} = any(string_to_array(application_name, ' '))
      and state_change > now() - interval '1 minute'
    order by address`;
  return rows.map(({ address }) => address);
}
