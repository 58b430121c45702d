import { z } from 'zod';
import {
  Refusal,
  type RefusalCode,
  type RefusalKind,
  refusalCodes,
} from '../../shared/base/errors.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql, Transaction } from '../database/connect.ts';
import type { AccountSecrets } from '../secrets/account-secrets.ts';
import { idempotencyRecordOf, type SecretsAtRest } from '../secrets/at-rest.ts';
import type { Answered } from './bind.ts';
import { lockOrganisation, lockOrganisationForCall, type OrganisationRow } from './records.ts';

/** What happens to a call that names a key, so that the repeated call does nothing again. */

export const idempotencyKeptMs = 86_400_000;

/** The answer to a batch of 500 monitors takes a fifth of it. */
const maxRecordBytes = 512 * 1024;

/**
 * An organisation's newest answers are stored whole, up to this many bytes. Of an older one only
 * the fact remains that there was one: a repeated call no longer gets its answer, but nothing is
 * done twice. So the limit breaks the smaller of two promises, for the callers who are least likely
 * to ask.
 */
export const maxRecordsOfOrganisation = 64 * 1024 * 1024;

/** What is known of the call under this key: its request, and when it was answered. */
type StoredCall = { readonly request: string; readonly answered_at: number };

/**
 * `new`: the key is unknown; `same`: the stored answer is the answer; `other`: the key belongs to
 * another request.
 */
type Fate = 'new' | 'same' | 'other';

export function fateOf(known: StoredCall | undefined, request: string, now: number): Fate {
  if (known === undefined || known.answered_at + idempotencyKeptMs <= now) return 'new';
  return known.request === request ? 'same' : 'other';
}

/**
 * Refusals that concern the request itself. All others concern the moment: the same call may
 * succeed later.
 */
const decided: ReadonlySet<RefusalKind> = new Set([
  'forbidden',
  'not_found',
  'invalid',
  'conflict',
]);

/** Refusals of these kinds that concern the caller or the key itself. */
const ofTheMoment: ReadonlySet<RefusalCode> = new Set([
  ...([
    'scope_insufficient',
    'role_insufficient',
    'session_missing',
    'proof_needed',
    'origin_foreign',
  ] as const),
  ...([
    'organisation_ending',
    'organisation_not_found',
    'route_not_found',
    'request_malformed',
  ] as const),
  ...(['idempotency_key_in_use', 'idempotency_answer_too_large', 'test_impossible'] as const),
]);

/** Whether a refusal is stored, so that the repeated call gets it again. */
export function isKept(code: RefusalCode): boolean {
  return decided.has(refusalCodes[code][0]) && !ofTheMoment.has(code);
}

/** A call that named a key, and its caller: fingerprints in hexadecimal. */
type NamedCall = {
  readonly organisation: string;
  readonly call: string;
  readonly request: string;
};

type IdempotencyRecord = {
  readonly request: string;
  readonly answered_at: number;
  readonly answer: Uint8Array | null;
};

async function idempotencyRecord(
  sql: Queryable,
  { organisation, call }: Pick<NamedCall, 'organisation' | 'call'>,
): Promise<IdempotencyRecord | undefined> {
  const [row] = await sql<IdempotencyRecord[]>`
    select encode(request, 'hex') as request,
      (extract(epoch from answered_at) * 1000)::float8 as answered_at, answer from kept_answers
    where organisation_id = ${organisation} and call = decode(${call}, 'hex')`;
  return row;
}

/**
 * False when it was not stored: because the call has another answer by now, or because a rotation
 * removed the key that encrypts the answer. An encrypted answer begins with the sixteen bytes of
 * its key's id; the key stays until this transaction ends.
 */
async function keepAnswer(
  sql: Queryable,
  { organisation, call, request }: NamedCall,
  { box, at, over }: { readonly box: Buffer | null; readonly at: number; readonly over: number },
): Promise<boolean> {
  const kept = await sql`
    insert into kept_answers as k (organisation_id, call, request, answered_at, answer)
    select ${organisation}, decode(${call}, 'hex'), decode(${request}, 'hex'), ${new Date(at)},
      a.box
    from (select ${box}::bytea as box) a
    where a.box is null or exists (
      select 1 from secret_keys s
      where s.id = encode(substring(a.box from 1 for 16), 'hex')::uuid for share)
    on conflict (organisation_id, call) do update
    set request = excluded.request, answered_at = excluded.answered_at, answer = excluded.answer
      where k.answered_at <= ${new Date(over)}`;
  return kept.count > 0;
}

/**
 * Keeps each organisation's newest answers, up to this many bytes; of older ones only the fact
 * remains. Works in batches, oldest first. Returns whether there may be more.
 */
export async function shrinkIdempotencyRecords(
  sql: Queryable,
  mostBytes: number,
  limit: number,
): Promise<boolean> {
  // While all answers together are below the limit, no organisation can exceed it: most
  // installations never scan them.
  const [size] = await sql<
    { mayExceed: boolean }[]
  >`select pg_total_relation_size('kept_answers') > ${mostBytes} as "mayExceed"`;
  if (size?.mayExceed !== true) return false;
  // The length of each answer is stored beside it, so no answer is read. An answer that was
  // replaced meanwhile stays.
  const lightened = await sql`
    update kept_answers k set answer = null from (
      select organisation_id, call, answered_at from (
        select organisation_id, call, answered_at,
          sum(octet_length(answer))
          over (partition by organisation_id order by answered_at desc, call) as bytes
        from kept_answers where answer is not null and organisation_id in (
          select organisation_id from kept_answers group by organisation_id
          having sum(octet_length(answer)) > ${mostBytes})
      ) each where bytes > ${mostBytes} order by answered_at limit ${limit}
    ) beyond
    where k.organisation_id = beyond.organisation_id and k.call = beyond.call
      and k.answered_at = beyond.answered_at`;
  return lightened.count === limit;
}

/** Deletes a batch of older records. Returns whether there may be more. */
export async function deleteIdempotencyRecords(
  sql: Queryable,
  before: number,
  limit: number,
): Promise<boolean> {
  const deleted = await sql`delete from kept_answers where ctid = any(array(
    select ctid from kept_answers where answered_at <= ${new Date(before)} order by answered_at
    limit ${limit}))`;
  return deleted.count === limit;
}

/** How a caller names a call that must be done once, however often it is sent. */
export type Named = {
  readonly key: string;
  /** A digest of the request: method, address and body. */
  readonly request: string;
};

/** `replayed`: it was answered before, and nothing was done now. */
export type Outcome = { readonly replayed: boolean } & (
  | { readonly answered: Answered }
  | { readonly refused: Refusal }
);

/** How the transaction of a call begins and ends; `plainly` for a call without a key. */
export type CallTransaction = {
  /** @throws Refusal `idempotency_key_in_use`. */
  readonly lock: (
    transaction: Transaction,
    organisation: string,
  ) => Promise<OrganisationRow | undefined>;
  readonly conclude: (transaction: Transaction, answered: Answered) => Promise<void>;
};

export const plainly: CallTransaction = { lock: lockOrganisation, conclude: async () => undefined };

type Call = Named & { readonly organisation: string; readonly by: string };

type Once = (
  call: Call,
  perform: (manner: CallTransaction) => Promise<Answered>,
) => Promise<Outcome>;

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly secrets: SecretsAtRest;
  readonly accountSecrets: AccountSecrets;
};

const code = z.custom<RefusalCode>(
  (value) => typeof value === 'string' && Object.hasOwn(refusalCodes, value),
);
const shape = z.union([
  z.object({ refused: z.object({ code, message: z.string() }) }),
  z.object({ answered: z.object({ status: z.number().optional(), body: z.unknown().optional() }) }),
]);

/**
 * Another transaction answered the call meanwhile, or the encryption key changed: this transaction
 * is rolled back.
 */
class Overtaken extends Error {}

/**
 * Two calls may overtake each other once; more often means that someone sends the same call in a
 * loop.
 */
const maxTries = 3;

/**
 * Does a call with a key at most once in 24 hours. The transaction that does the work also writes
 * the answer, so a killed process leaves both or neither. A lock of that transaction marks the call
 * as being worked on, and ends with the transaction in any case.
 */
export function createOnce({ sql, clock, secrets, accountSecrets }: Dependencies): Once {
  /**
   * The calls that this process works on: they would otherwise wait for each other in their
   * organisation's queue.
   */
  const working = new Set<string>();

  const told = async (kept: IdempotencyRecord, about: string): Promise<Outcome> => {
    if (kept.answer === null) throw tooLarge(kept.answered_at);
    const outcome = shape.parse(JSON.parse(await secrets.open(sql, kept.answer, about)));
    if ('answered' in outcome) {
      const { status, body } = outcome.answered;
      return { replayed: true, answered: { body, ...(status === undefined ? {} : { status }) } };
    }
    return { replayed: true, refused: new Refusal(outcome.refused.code, outcome.refused.message) };
  };

  /** One attempt. Undefined: it was overtaken. */
  const attempt = async (
    named: NamedCall,
    perform: (manner: CallTransaction) => Promise<Answered>,
  ): Promise<Outcome | undefined> => {
    const about = idempotencyRecordOf(`${named.organisation} ${named.call}`);
    const [known, seal] = await Promise.all([idempotencyRecord(sql, named), secrets.sealer(sql)]);
    const fate = fateOf(known, named.request, clock.now());
    if (fate === 'other') throw reused();
    if (fate === 'same' && known) return told(known, about);
    const keep = (on: Sql | Transaction, outcome: z.infer<typeof shape>): Promise<boolean> => {
      const [text, at] = [JSON.stringify(outcome), clock.now()];
      const box = Buffer.byteLength(text) > maxRecordBytes ? null : seal(text, about);
      return keepAnswer(on, named, { box, at, over: at - idempotencyKeptMs });
    };
    try {
      const answered = await perform({
        lock: async (transaction, organisation) => {
          const locked = await lockOrganisationForCall(
            transaction,
            organisation,
            Buffer.from(named.call, 'hex').readBigInt64BE(),
          );
          if (!locked.isFree) throw inUse();
          return locked.organisation;
        },
        conclude: async (transaction, answer) => {
          if (!(await keep(transaction, { answered: answer }))) throw new Overtaken();
        },
      });
      return { replayed: false, answered };
    } catch (error) {
      if (error instanceof Overtaken) return undefined;
      if (!(error instanceof Refusal) || !isKept(error.code)) throw error;
      return (await keep(sql, { refused: { code: error.code, message: error.message } }))
        ? { replayed: false, refused: error }
        : undefined;
    }
  };

  return async ({ organisation, by, key, request }, perform) => {
    const [call, asked] = await Promise.all([
      accountSecrets.fingerprint('call', `${by} ${key}`),
      accountSecrets.fingerprint('call', request),
    ]);
    const named: NamedCall = {
      organisation,
      call: call.toString('hex'),
      request: asked.toString('hex'),
    };
    if (working.has(named.call)) throw inUse();
    working.add(named.call);
    try {
      for (let tries = 0; tries < maxTries; tries += 1) {
        const outcome = await attempt(named, perform);
        if (outcome !== undefined) return outcome;
      }
      throw inUse();
    } finally {
      working.delete(named.call);
    }
  };
}

function tooLarge(at: number): Refusal {
  return new Refusal(
    'idempotency_answer_too_large',
    `This call was answered on ${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC, and nothing was done now. Its answer is not kept: it was larger than ${maxRecordBytes / 1024} KiB, or it is older than the newest ${maxRecordsOfOrganisation / 1024 / 1024} MiB of answers to your organisation. Read what there is.`,
  );
}

function reused(): Refusal {
  return new Refusal(
    'idempotency_key_reused',
    'This Idempotency-Key was sent with another request within the last 24 hours; give each request a key of its own, and send the same request only when you repeat it.',
  );
}

function inUse(): Refusal {
  return new Refusal(
    'idempotency_key_in_use',
    'Another call with this Idempotency-Key is being worked on; send it again in a moment, and you get its answer.',
  );
}
