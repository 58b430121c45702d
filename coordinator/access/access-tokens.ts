import { Refusal } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../store/store-database.ts';
import { tokenHolders, writeLastUsed } from '../store/store-tokens.ts';
import type { Caller } from './access-caller.ts';
import { createGatheredLookup } from './access-gathered-lookup.ts';
import { createLastUses } from './access-last-uses.ts';
import { createKeptKey, type MasterKeys } from './access-master-keys.ts';
import { fingerprintOf, isTokenText, looksLikeToken, newTokenText, shownPart } from './access-token-text.ts';

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

const missing = (): Refusal => new Refusal('token_missing', 'Send your API token as `Authorization: Bearer svc_…`.');
const invalid = (): Refusal => new Refusal('token_invalid', 'This token is unknown, or it was revoked, or has ended; make a new one.');

export const createTokens = ({ sql, secretKey, previousKey, clock, log }: Parts): Tokens => {
  const key = createKeptKey(sql, { secretKey, previousKey }, 'token fingerprint');
  const lookup = createGatheredLookup((fingerprints) => tokenHolders(sql, fingerprints));
  const uses = createLastUses<number>({ write: (all) => writeLastUsed(sql, all), log, of: 'tokens', again: 'call' });

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
      uses.note(holder.id, now);
      const { organisation_id, organisation, plan, time_zone, ends_at } = holder;
      return {
        is: 'token',
        organisation: { id: organisation_id, name: organisation, plan, time_zone, ends_at },
        user: holder.user_id,
        role: holder.role,
        scope: holder.scope,
        token: { id: holder.id, name: holder.name },
        address,
      };
    },
    flush: uses.flush,
    close: uses.flush,
  };
};
