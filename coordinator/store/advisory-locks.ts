import type { Transaction } from './database.ts';

/** Any numbers will do, as long as they differ and every version takes the same. */
const numbers = {
  migrations: 7_405_021,
  /** Two that made the same day of results at once would refuse each other. */
  resultDays: 7_405_022,
  /** Who publishes heartbeat keys alone publishes nothing that is no longer true. */
  pingKeys: 7_301,
  /** Two that replaced SECRET_KEY at once would each make a newest key. */
  secretKey: 7_405_023,
} as const;

/** Waits until no other transaction, of this coordinator or another, does the same; holds it until this one ends. */
export const doAlone = async (transaction: Transaction, what: keyof typeof numbers): Promise<void> => {
  await transaction`select pg_advisory_xact_lock(${numbers[what]})`;
};
