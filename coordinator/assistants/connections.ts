import { createHmac } from 'node:crypto';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../database/connect.ts';
import type { Caller } from '../gate/caller.ts';
import { createGatheredLookup, createLastUses } from '../gate/lookups.ts';
import { mayWrite } from '../organisations/model.ts';
import { createKeptKey, type MasterKeys } from '../secrets/keys.ts';
import { connectionHolders, writeConnectionUses } from './queries.ts';

/** An assistant that calls, and the connection that it calls by. */
export type AssistantCaller = Caller & { readonly is: 'connector'; readonly connection: NonNullable<Caller['connection']> };

export type Connections = {
  /**
   * Who is calling by this access token; undefined for one that is unknown, has ended, was disconnected, or was made for another address than ours.
   * Connection, membership and role are those of this moment.
   */
  readonly callerOf: (accessToken: string, address?: string) => Promise<AssistantCaller | undefined>;
  /** Writes down when connections were last used. */
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Dependencies = MasterKeys & {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Without a slash at the end; never what a request calls us. */
  readonly baseUrl: () => string;
};

/** What an assistant connects to, and whom its tokens are made for. */
export const resourceOf = (baseUrl: string): string => `${baseUrl}/mcp`;

/** The key that outlives SECRET_KEY, or replacing that would disconnect every assistant. */
export const createAssistantKey = (sql: Sql, keys: MasterKeys): (() => Promise<Buffer>) => createKeptKey(sql, keys, 'assistants');

/** What is stored instead of what lets somebody in. One model's is good for nothing as another's. */
export const recordFingerprint = (key: Buffer, model: string, id: string): Buffer =>
  createHmac('sha256', key).update(`${model} ${id}`).digest();

/** As the library makes them; longer ones nobody gave out. */
const shape = /^[\w-]{20,128}$/;

export const createConnections = ({ sql, secretKey, previousKey, clock, log, baseUrl }: Dependencies): Connections => {
  const key = createAssistantKey(sql, { secretKey, previousKey });
  const lookup = createGatheredLookup((fingerprints) => connectionHolders(sql, fingerprints));
  const uses = createLastUses<number>({ write: (all) => writeConnectionUses(sql, all), log, of: 'connections', again: 'call' });
  return {
    callerOf: async (accessToken, address) => {
      if (!shape.test(accessToken)) return undefined;
      const holder = await lookup(recordFingerprint(await key(), 'AccessToken', accessToken).toString('hex'));
      const now = clock.now();
      if (holder?.expires_at === null || holder === undefined || holder.expires_at.getTime() <= now) return undefined;
      if (holder.audience !== resourceOf(baseUrl())) return undefined;
      uses.note(holder.id, now);
      const { id, client_name: client, user_id: user, role, organisation_id, organisation, plan, time_zone, ends_at } = holder;
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
};
