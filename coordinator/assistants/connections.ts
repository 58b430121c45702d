import { createHmac } from 'node:crypto';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../database/connect.ts';
import { type Caller, mayWrite } from '../gate/caller.ts';
import { createGatheredLookup, createLastUses } from '../gate/lookups.ts';
import { createKeptKey, type MasterKeys } from '../secrets/at-rest.ts';
import { connectionHolders, writeConnectionUses } from './queries.ts';

/** A calling assistant, and its connection. */
export type AssistantCaller = Caller & {
  readonly is: 'connector';
  readonly connection: NonNullable<Caller['connection']>;
};

export type Connections = {
  /**
   * The caller with this access token; undefined for a token that is unknown, expired,
   * disconnected, or made for another address than ours. Connection, membership and role are those
   * of this moment.
   */
  readonly callerOf: (
    accessToken: string,
    address?: string,
  ) => Promise<AssistantCaller | undefined>;
  /** Writes when connections were last used. */
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Dependencies = MasterKeys & {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Without a trailing slash; never taken from a request. */
  readonly baseUrl: () => string;
};

/** What an assistant connects to, and the audience of its tokens. */
export function resourceOf(baseUrl: string): string {
  return `${baseUrl}/mcp`;
}

/**
 * A key that outlives SECRET_KEY; otherwise replacing SECRET_KEY would disconnect every assistant.
 */
export function createAssistantKey(sql: Sql, keys: MasterKeys): () => Promise<Buffer> {
  return createKeptKey(sql, keys, 'assistants');
}

/** Stored instead of a credential. The fingerprint of one model is useless for another. */
export function recordFingerprint(key: Buffer, model: string, id: string): Buffer {
  return createHmac('sha256', key).update(`${model} ${id}`).digest();
}

/** The library's format; longer ones were never issued. */
const shape = /^[\w-]{20,128}$/;

export function createConnections({
  sql,
  secretKey,
  previousKey,
  clock,
  log,
  baseUrl,
}: Dependencies): Connections {
  const key = createAssistantKey(sql, { secretKey, previousKey });
  const lookup = createGatheredLookup((fingerprints) => connectionHolders(sql, fingerprints));
  const uses = createLastUses<number>({
    write: (all) => writeConnectionUses(sql, all),
    log,
    of: 'connections',
    again: 'call',
  });
  return {
    callerOf: async (accessToken, address) => {
      if (!shape.test(accessToken)) return undefined;
      const holder = await lookup(
        recordFingerprint(await key(), 'AccessToken', accessToken).toString('hex'),
      );
      const now = clock.now();
      if (holder?.expires_at === null || holder === undefined || holder.expires_at <= now)
        return undefined;
      if (holder.audience !== resourceOf(baseUrl())) return undefined;
      uses.note(holder.id, now);
      const {
        id,
        client_name: client,
        user_id: user,
        role,
        organisation_id,
        organisation,
        plan,
        time_zone,
        ends_at,
      } = holder;
      return {
        is: 'connector',
        organisation: { id: organisation_id, name: organisation, plan, time_zone, ends_at },
        user,
        role,
        scope: mayWrite(role) ? holder.scope : 'read',
        connection: { id, client },
        address,
      };
    },
    flush: uses.flush,
    close: uses.flush,
  };
}
