import type { Clock } from '../../shared/base/clock.ts';
import type { Log } from '../../shared/base/log.ts';
import { Refusal } from '../../shared/base/refusal.ts';
import type { Sql } from '../store/database.ts';
import { type TokenHolder, tokenHolders, writeLastUsed } from '../store/tokens.ts';
import type { Caller } from './caller.ts';
import { createKeptKey, type MasterKeys } from './master-keys.ts';
import { fingerprintOf, isTokenText, looksLikeToken, newTokenText, shownPart } from './token-text.ts';

export type MintedToken = { readonly token: string; readonly fingerprint: Buffer; readonly shown: string };

export type Tokens = {
  /** A fresh token; the text is shown once and stored nowhere. */
  readonly mint: () => Promise<MintedToken>;
  /** `address`: where the call comes from, for the audit log. @throws Refusal `token_missing` or `token_invalid`. */
  readonly authenticate: (authorization: string | undefined, address?: string) => Promise<Caller>;
  /** Writes down when tokens were last used. */
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Parts = MasterKeys & { readonly sql: Sql; readonly clock: Clock; readonly log: Pick<Log, 'warn'> };

const flushEvery = 60_000;

const missing = (): Refusal => new Refusal('token_missing', 'Send your API token as `Authorization: Bearer svc_…`.');
const invalid = (): Refusal => new Refusal('token_invalid', 'This token is unknown, or it was revoked, or has ended; make a new one.');

/**
 * Lookups that come while one is under way wait for the next, which takes all of them: each call is answered from a query that
 * began after it came in, and fifty callers at once cost one round trip.
 */
const createLookup = (sql: Sql): ((fingerprint: string) => Promise<TokenHolder | undefined>) => {
  type Waiting = { readonly resolve: (holder: TokenHolder | undefined) => void; readonly reject: (error: unknown) => void };
  let waiting = new Map<string, Waiting[]>();
  let underWay = false;
  const run = async (): Promise<void> => {
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      try {
        const holders = new Map((await tokenHolders(sql, [...batch.keys()])).map((holder) => [holder.fingerprint, holder]));
        for (const [fingerprint, all] of batch) for (const { resolve } of all) resolve(holders.get(fingerprint));
      } catch (error) {
        for (const all of batch.values()) for (const { reject } of all) reject(error);
      }
    }
    underWay = false;
  };
  return (fingerprint) =>
    new Promise((resolve, reject) => {
      const same = waiting.get(fingerprint);
      if (same) same.push({ resolve, reject });
      else waiting.set(fingerprint, [{ resolve, reject }]);
      if (underWay) return;
      underWay = true;
      // Calls that arrive in the same turn of the event loop go together.
      setImmediate(() => void run());
    });
};

export const createTokens = ({ sql, secretKey, previousKey, clock, log }: Parts): Tokens => {
  const key = createKeptKey(sql, { secretKey, previousKey }, 'token fingerprint');
  const lookup = createLookup(sql);
  let uses = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const taken = uses;
    uses = new Map();
    try {
      await writeLastUsed(sql, taken);
    } catch (error) {
      for (const [id, at] of taken) if (!uses.has(id)) uses.set(id, at);
      log.warn({ err: error }, 'the last use of tokens could not be written; it is tried again with the next call');
    }
  };

  const noteUse = (id: string, at: number): void => {
    uses.set(id, at);
    timer ??= setTimeout(() => void flush(), flushEvery).unref();
  };

  return {
    mint: async () => {
      const token = newTokenText();
      return { token, fingerprint: fingerprintOf(token, await key()), shown: shownPart(token) };
    },
    authenticate: async (authorization, address) => {
      const [, text = ''] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
      if (!looksLikeToken(text)) throw missing();
      if (!isTokenText(text)) throw invalid();
      const holder = await lookup(fingerprintOf(text, await key()).toString('hex'));
      const now = clock.now();
      if (!holder || (holder.expires_at !== null && holder.expires_at.getTime() <= now)) throw invalid();
      noteUse(holder.id, now);
      const { organisation_id, organisation, plan, time_zone } = holder;
      return {
        is: 'token',
        organisation: { id: organisation_id, name: organisation, plan, time_zone },
        user: holder.user_id,
        role: holder.role,
        scope: holder.scope,
        token: { id: holder.id, name: holder.name },
        address,
      };
    },
    flush,
    close: flush,
  };
};
