import type { Queryable } from './store-database.ts';
import type { WrappedKey } from './store-secret-keys.ts';

/** Stands for every place. */
const everywhere = '*';

/** Of each place that ever had a key taken out of use, and of all of them. */
export type SealEpochs = ReadonlyMap<string, number>;

/** With the newest key of secrets, whose wrapping says what the keys of the network are derived from: both as of one moment. */
export type Sealing = { readonly epochs: SealEpochs; readonly newest: WrappedKey | undefined };

export const readSealing = async (sql: Queryable): Promise<Sealing> => {
  const rows = await sql<{ place: string; epoch: number; id: string | null; wrapped: Uint8Array | null }[]>`
    with newest as (select id, wrapped from secret_keys order by id desc limit 1)
    select e.place, e.epoch, k.id, k.wrapped
    from (select place, epoch from seal_epochs union all select ${everywhere}, seal_epoch from installation) e left join newest k on true`;
  const [first] = rows;
  const newest = first && first.id !== null && first.wrapped !== null ? { id: first.id, wrapped: first.wrapped } : undefined;
  return { epochs: new Map(rows.map(({ place, epoch }) => [place, epoch])), newest };
};

export const sealEpochOf = (epochs: SealEpochs, place: string): number => Math.max(1, epochs.get(place) ?? 1, epochs.get(everywhere) ?? 1);

/** From the commit on the key of this place is another one. */
export const growSealEpoch = async (sql: Queryable, place: string): Promise<void> => {
  await sql`
    insert into seal_epochs (place, epoch) values (${place}, (extract(epoch from clock_timestamp()) * 1000)::bigint)
    on conflict (place) do update set epoch = greatest(seal_epochs.epoch + 1, excluded.epoch)`;
};

export const growEverySealEpoch = async (sql: Queryable): Promise<void> => {
  await sql`update installation set seal_epoch = greatest(seal_epoch + 1, (extract(epoch from clock_timestamp()) * 1000)::bigint)`;
};
