import { type Sql, type Transaction, wayOf } from './store-database.ts';

/** Any numbers will do, as long as they differ and every version takes the same. */
const numbers = {
  migrations: 7_405_021,
  /** Two that made the same day of results at once would refuse each other. */
  resultDays: 7_405_022,
  /** Who publishes heartbeat keys alone publishes nothing that is no longer true. */
  pingKeys: 7_301,
  /** Two that replaced SECRET_KEY at once would each make a newest key. */
  secretKey: 7_405_023,
  /** Two would sweep away what the other writes. */
  backups: 7_405_024,
} as const;

/** Waits until no other transaction, of this coordinator or another, does the same; holds it until this one ends. */
export const doAlone = async (transaction: Transaction, what: keyof typeof numbers): Promise<void> => {
  await transaction`select pg_advisory_xact_lock(${numbers[what]})`;
};

/** How often the lock's own transaction is heard of: the database ends one that says nothing. */
const signOfLifeMs = 2_000;

/** Does it while nobody else does, for as long as it takes; undefined where somebody does already. */
export const holdAlone = async <Result>(sql: Sql, what: keyof typeof numbers, work: () => Promise<Result>): Promise<Result | undefined> => {
  const own = wayOf(sql).openPatient();
  try {
    const done = await own.begin(async (transaction) => {
      const [row] = await transaction<{ mine: boolean }[]>`select pg_try_advisory_xact_lock(${numbers[what]}) as mine`;
      if (!row?.mine) return undefined;
      // A failure is heard of when the transaction ends.
      const alive = setInterval(() => void transaction`select 1`.catch(() => undefined), signOfLifeMs);
      try {
        return { result: await work() };
      } finally {
        clearInterval(alive);
      }
    });
    return done?.result;
  } finally {
    await own.end({ timeout: 5 });
  }
};
