import postgres from 'postgres';
import type { Queryable } from './store-database.ts';
import { numbersLiteral } from './store-sql-arrays.ts';
import type { Statement } from './store-sql-statements.ts';

/**
 * Who owns which partition. The epoch goes up with every change of owner and is checked in every commit, so that an owner who was
 * frozen and does not know that he was replaced can write nothing. A lease that ran out still holds until somebody takes it.
 */
export type Lease = { readonly partition: number; readonly epoch: number };

export const leasesChannel = 'leases';

type Alive = { readonly owner: string; readonly version: string; readonly hasBus: boolean };

/** Says that this coordinator lives, and counts the others that do and have the bus. */
export const beAlive = async (sql: Queryable, { owner, version, hasBus }: Alive, aliveMs: number): Promise<number> => {
  const [row] = await sql<{ others: number }[]>`
    with mine as (
      insert into coordinators (id, version, seen_at, has_bus, signs) values (${owner}, ${version}, now(), ${hasBus}, true)
      on conflict (id) do update set seen_at = excluded.seen_at, has_bus = excluded.has_bus
    )
    select count(*) as others from coordinators
    where id <> ${owner} and has_bus and seen_at > now() - ${aliveMs} * interval '1 millisecond'`;
  return row?.others ?? 0;
};

/** Those that ended without a word are forgotten once nobody asks what became of them. */
export const forgetCoordinators = async (sql: Queryable): Promise<void> => {
  await sql`delete from coordinators where seen_at < now() - interval '1 hour'`;
};

/**
 * Prolongs what this owner holds; what is not in the answer has been taken by another. Locked in order of partition, as commits lock theirs:
 * in any other order both can wait for each other, which ends one of them after a second.
 */
export const renewLeases = (sql: Queryable, owner: string, lastsMs: number): Promise<Lease[]> =>
  sql<Lease[]>`
    update leases set expires_at = now() + ${lastsMs} * interval '1 millisecond'
    where partition in (select partition from leases where owner = ${owner} order by partition for no key update)
    returning partition, epoch`;

/** Takes free partitions and those whose lease ran out, at most so many. Those that are just being written to are left for the next time. */
export const takeLeases = (sql: Queryable, owner: string, most: number, lastsMs: number): Promise<Lease[]> =>
  sql<Lease[]>`
    update leases set owner = ${owner}, epoch = epoch + 1, expires_at = now() + ${lastsMs} * interval '1 millisecond'
    where partition in (select partition from leases where expires_at < now() order by partition limit ${most} for update skip locked)
    returning partition, epoch`;

/**
 * A new epoch for the same owner, who reads the partition again. A commit whose answer never came may still be at work in the database: this waits
 * for one that holds the lease, and whatever was sent under the old epoch and comes later can write nothing. @throws Fenced when it is another's.
 */
export const renewEpoch = async (sql: Queryable, { partition, epoch }: Lease): Promise<Lease> => {
  const [renewed] = await sql<Lease[]>`
    update leases set epoch = epoch + 1 where partition = ${partition} and epoch = ${epoch} and owner is not null returning partition, epoch`;
  if (!renewed) throw new Fenced([partition]);
  return renewed;
};

/** Gives partitions back, and wakes the others so that they take them at once. */
export const releaseLeases = async (sql: Queryable, owner: string, partitions: readonly number[]): Promise<void> => {
  await sql`update leases set owner = null, expires_at = 'epoch' where owner = ${owner} and partition = any(${[...partitions]})`;
  await sql`select pg_notify(${leasesChannel}, '')`;
};

/** This coordinator ends: the others need not count it any more. */
export const sayGoodbye = async (sql: Queryable, owner: string): Promise<void> => {
  await sql`delete from coordinators where id = ${owner}`;
};

/** The partitions now owned by somebody whose lease has not run out. */
export const ownedPartitions = async (sql: Queryable): Promise<number> => {
  const [row] = await sql<{ owned: number }[]>`select count(*) as owned from leases where expires_at > now()`;
  return row?.owned ?? 0;
};

export class Fenced extends Error {
  readonly partitions: readonly number[];

  constructor(partitions: readonly number[]) {
    super(`the partitions ${partitions.join(', ')} belong to another coordinator now`);
    this.name = 'Fenced';
    this.partitions = partitions;
  }
}

/** Locks these leases against being taken until the transaction ends, and fails when one of them was taken before: fencedBy() tells. */
export const fence = (sql: Queryable, owner: string, leases: readonly Lease[]): Statement =>
  sql`select hold_leases(${owner}, ${numbersLiteral(leases.map(({ partition }) => partition))}::smallint[],
    ${numbersLiteral(leases.map(({ epoch }) => epoch))}::bigint[])`;

/** What fence() failed with, as we say it; anything else as it is. */
export const fencedBy = (error: unknown): unknown => {
  const isFence = error instanceof postgres.PostgresError && error.code === 'AP001';
  return isFence ? new Fenced((error.detail ?? '').split(',').map(Number)) : error;
};
