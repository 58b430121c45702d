import { z } from 'zod';
import { Refusal, type RefusalCode, refusalCodes } from '../../shared/base/errors.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { AccountSecrets } from '../access/access-account-secrets.ts';
import { keptAnswerOf, type SecretsAtRest } from '../access/access-secrets-at-rest.ts';
import { fateOf, isKept, keptForMs, mostKeptBytes, mostKeptOfOrganisation } from '../domain/kept-answer.ts';
import type { Sql, Transaction } from '../store/store-database.ts';
import { type KeptAnswer, keepAnswer, keptAnswer, type NamedCall } from '../store/store-kept-answers.ts';
import { lockOrganisation, lockOrganisationForCall, type OrganisationRow } from '../store/store-organisations.ts';
import type { Answered } from './operation-bind.ts';

/** What a caller says of a call that is to be done once, however often it is sent. */
export type Named = {
  readonly key: string;
  /** A digest of what is asked, in whatever form: method, address and body. */
  readonly request: string;
};

/** `replayed`: it was answered before, and nothing was done now. */
export type Outcome = { readonly replayed: boolean } & ({ readonly answered: Answered } | { readonly refused: Refusal });

/** How the transaction of a call begins and ends; `plainly` for one that names no key. */
export type Manner = {
  /** @throws Refusal `idempotency_key_in_use`. */
  readonly lock: (transaction: Transaction, organisation: string) => Promise<OrganisationRow | undefined>;
  readonly conclude: (transaction: Transaction, answered: Answered) => Promise<void>;
};

export const plainly: Manner = { lock: lockOrganisation, conclude: async () => undefined };

type Call = Named & { readonly organisation: string; readonly by: string };

export type Once = (call: Call, perform: (manner: Manner) => Promise<Answered>) => Promise<Outcome>;

type Parts = { readonly sql: Sql; readonly clock: Clock; readonly secrets: SecretsAtRest; readonly accountSecrets: AccountSecrets };

const code = z.custom<RefusalCode>((value) => typeof value === 'string' && Object.hasOwn(refusalCodes, value));
const shape = z.union([
  z.object({ refused: z.object({ code, message: z.string() }) }),
  z.object({ answered: z.object({ status: z.number().optional(), body: z.unknown().optional() }) }),
]);

/** Another transaction answered the call meanwhile, or the key of secrets changed: this one is undone. */
class Overtaken extends Error {}

/** Two may overtake each other once; more often than that somebody sends the same call in a loop. */
const mostTries = 3;

const inUse = (): Refusal =>
  new Refusal(
    'idempotency_key_in_use',
    'Another call with this Idempotency-Key is being worked on; send it again in a moment, and you get its answer.',
  );

const reused = (): Refusal =>
  new Refusal(
    'idempotency_key_reused',
    'This Idempotency-Key was sent with another request within the last 24 hours; give each request a key of its own, and send the same request only when you repeat it.',
  );

const tooLarge = (at: number): Refusal =>
  new Refusal(
    'idempotency_answer_too_large',
    `This call was answered on ${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC, and nothing was done now. Its answer is not kept: it was larger than ${mostKeptBytes / 1024} KiB, or it is older than the newest ${mostKeptOfOrganisation / 1024 / 1024} MiB of answers to your organisation. Read what there is.`,
  );

/**
 * Does a call that names a key at most once in 24 hours. Its answer is written by the transaction that does what was asked, so that whoever is killed
 * leaves both or nothing. Whether somebody works on it just now is a lock of that transaction, which ends with it, in whatever way it ends.
 */
export const createOnce = ({ sql, clock, secrets, accountSecrets }: Parts): Once => {
  /** The calls that this process works on: they would else wait for each other in their organisation's queue. */
  const working = new Set<string>();

  const told = async (kept: KeptAnswer, about: string): Promise<Outcome> => {
    if (kept.answer === null) throw tooLarge(kept.answered_at);
    const outcome = shape.parse(JSON.parse(await secrets.open(sql, kept.answer, about)));
    if ('answered' in outcome) {
      const { status, body } = outcome.answered;
      return { replayed: true, answered: { body, ...(status === undefined ? {} : { status }) } };
    }
    return { replayed: true, refused: new Refusal(outcome.refused.code, outcome.refused.message) };
  };

  /** One try. Undefined: it was overtaken. */
  const attempt = async (named: NamedCall, perform: (manner: Manner) => Promise<Answered>): Promise<Outcome | undefined> => {
    const about = keptAnswerOf(`${named.organisation} ${named.call}`);
    const [known, seal] = await Promise.all([keptAnswer(sql, named), secrets.sealer(sql)]);
    const fate = fateOf(known, named.request, clock.now());
    if (fate === 'other') throw reused();
    if (fate === 'same' && known) return told(known, about);
    const keep = (on: Sql | Transaction, outcome: z.infer<typeof shape>): Promise<boolean> => {
      const [text, at] = [JSON.stringify(outcome), clock.now()];
      const box = Buffer.byteLength(text) > mostKeptBytes ? null : seal(text, about);
      return keepAnswer(on, named, { box, at, over: at - keptForMs });
    };
    try {
      const answered = await perform({
        lock: async (transaction, organisation) => {
          const locked = await lockOrganisationForCall(transaction, organisation, Buffer.from(named.call, 'hex').readBigInt64BE());
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
      return (await keep(sql, { refused: { code: error.code, message: error.message } })) ? { replayed: false, refused: error } : undefined;
    }
  };

  return async ({ organisation, by, key, request }, perform) => {
    const [call, asked] = await Promise.all([
      accountSecrets.fingerprint('call', `${by} ${key}`),
      accountSecrets.fingerprint('call', request),
    ]);
    const named: NamedCall = { organisation, call: call.toString('hex'), request: asked.toString('hex') };
    if (working.has(named.call)) throw inUse();
    working.add(named.call);
    try {
      for (let tries = 0; tries < mostTries; tries += 1) {
        const outcome = await attempt(named, perform);
        if (outcome !== undefined) return outcome;
      }
      throw inUse();
    } finally {
      working.delete(named.call);
    }
  };
};
