import type { Queryable } from './store-database.ts';

/** A call that named a key, and whose it was: fingerprints in hexadecimal. */
export type NamedCall = { readonly organisation: string; readonly call: string; readonly request: string };

export type KeptAnswer = { readonly request: string; readonly answered_at: number; readonly answer: Uint8Array | null };

export const keptAnswer = async (
  sql: Queryable,
  { organisation, call }: Pick<NamedCall, 'organisation' | 'call'>,
): Promise<KeptAnswer | undefined> => {
  const [row] = await sql<KeptAnswer[]>`
    select encode(request, 'hex') as request, (extract(epoch from answered_at) * 1000)::float8 as answered_at, answer from kept_answers
    where organisation_id = ${organisation} and call = decode(${call}, 'hex')`;
  return row;
};

/**
 * False: it was not kept, because the call has another answer by now, or because the key that the answer is encrypted with was taken away by a rotation.
 * A box begins with the sixteen bytes of its key's id; the key stays until this transaction ends.
 */
export const keepAnswer = async (
  sql: Queryable,
  { organisation, call, request }: NamedCall,
  { box, at, over }: { readonly box: Buffer | null; readonly at: number; readonly over: number },
): Promise<boolean> => {
  const kept = await sql`
    insert into kept_answers as k (organisation_id, call, request, answered_at, answer)
    select ${organisation}, decode(${call}, 'hex'), decode(${request}, 'hex'), ${new Date(at)}, a.box
    from (select ${box}::bytea as box) a
    where a.box is null or exists (
      select 1 from secret_keys s where s.id = encode(substring(a.box from 1 for 16), 'hex')::uuid for share)
    on conflict (organisation_id, call) do update set request = excluded.request, answered_at = excluded.answered_at, answer = excluded.answer
      where k.answered_at <= ${new Date(over)}`;
  return kept.count > 0;
};

/**
 * Of each organisation's answers the newest stay, up to so many bytes; of those before them only stays that they were given. A bite, the oldest first;
 * whether there may be more.
 */
export const lightenKeptAnswers = async (sql: Queryable, mostBytes: number, most: number): Promise<boolean> => {
  // While all of them together are no more than that, those of none can be: most installations never read them for this.
  const [size] = await sql<{ mayExceed: boolean }[]>`select pg_total_relation_size('kept_answers') > ${mostBytes} as "mayExceed"`;
  if (size?.mayExceed !== true) return false;
  // How long a value is stands beside it: none is read. An answer that was given anew meanwhile stays.
  const lightened = await sql`
    update kept_answers k set answer = null from (
      select organisation_id, call, answered_at from (
        select organisation_id, call, answered_at,
          sum(octet_length(answer)) over (partition by organisation_id order by answered_at desc, call) as bytes
        from kept_answers where answer is not null and organisation_id in (
          select organisation_id from kept_answers group by organisation_id having sum(octet_length(answer)) > ${mostBytes})
      ) each where bytes > ${mostBytes} order by answered_at limit ${most}
    ) beyond
    where k.organisation_id = beyond.organisation_id and k.call = beyond.call and k.answered_at = beyond.answered_at`;
  return lightened.count === most;
};

/** A bite of what is older; whether there may be more. */
export const forgetKeptAnswers = async (sql: Queryable, before: Date, most: number): Promise<boolean> => {
  const deleted = await sql`delete from kept_answers where ctid = any(array(
    select ctid from kept_answers where answered_at <= ${before} order by answered_at limit ${most}))`;
  return deleted.count === most;
};
