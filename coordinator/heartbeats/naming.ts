import { createRecentCache } from '../../shared/base/async.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { PingMessage } from '../../shared/bus/messages.ts';
import { namedFingerprint } from '../../shared/checks/heartbeat/config.ts';
import type { Sql } from '../database/connect.ts';
import { insertAudit } from '../gate/audit.ts';
import type { Caller, Organisation } from '../gate/caller.ts';
import { organisationById } from '../gate/records.ts';
import { monitorsCalled } from '../monitors/queries.ts';
import { creatingPingKeys, nameUnderPingKeys } from './ping-key-queries.ts';
import { pingKey as keyOf } from './queries.ts';

/** Creates a monitor as the API does. @throws Refusal. */
export type CreateHeartbeat = (
  caller: Caller,
  body: Readonly<Record<string, unknown>>,
) => Promise<unknown>;

/** A job that runs daily is the commonest. A shorter interval would alarm before anyone sets it. */
const first = { interval_s: 86_400, config: { grace_s: 3_600 } };

/**
 * Creates the heartbeat that a ping of a ping key names for the first time. Repeating it changes
 * nothing. Undefined when it may not be: the audit log of the organisation says why.
 */
export type CreateNamed = (
  ping: Pick<PingMessage, 'key' | 'at'>,
  create: NonNullable<PingMessage['create']>,
) => Promise<{ readonly organisation: string; readonly monitor: string } | undefined>;

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly createHeartbeat: CreateHeartbeat;
};

/** A job calls again and again; the log says once an hour why it could create nothing. */
const sayAgainMs = 3_600_000;
const maxSaid = 10_000;
/** Nobody waits for the pings of a key that would create ever more monitors than the plan allows. */
const fullMs = 10_000;

export function createNaming({ sql, clock, log, createHeartbeat }: Dependencies): CreateNamed {
  const said = createRecentCache<string, number>(maxSaid);
  /** When the plan of an organisation was last found full. */
  const full = createRecentCache<string, number>(maxSaid);
  const isWithin = (at: number | undefined, ms: number): boolean =>
    at !== undefined && clock.now() - at < ms;

  const refuse = async (caller: Caller, external_id: string, refusal: Refusal): Promise<void> => {
    const now = clock.now();
    const isFull = refusal.code === 'plan_limit_monitors';
    if (isFull) full.keep(caller.organisation.id, now);
    // Made-up names would fill the log.
    const about = `${caller.organisation.id} ${isFull ? '' : external_id}`;
    if (isWithin(said.find(about), sayAgainMs)) return;
    said.keep(about, now);
    log.info(
      { organisation: caller.organisation.id, code: refusal.code },
      'a ping could not create its heartbeat',
    );
    await insertAudit(sql, {
      at: now,
      organisation: caller.organisation.id,
      user: null,
      who: caller.token?.name ?? '',
      through: 'api',
      token_name: caller.token?.name ?? null,
      address: null,
      operation: 'refusePing',
      changed: { about: {}, after: { external_id, reason: refusal.message } },
    });
  };

  return async (ping, { ping_key, external_id }) => {
    const [key] = await creatingPingKeys(sql, [ping_key]);
    // Its sender made it up, or the ping key has ended meanwhile.
    if (!key || namedFingerprint(key.fingerprint, external_id) !== ping.key) return undefined;
    if (key.until !== null && key.until <= ping.at) return undefined;
    const organisation = await organisationById(sql, key.organisation);
    if (!organisation) return undefined;
    const caller = callerBy(organisation, key);
    const known = await keyOf(sql, ping.key);
    if (known) return known;
    if (isWithin(full.find(organisation.id), fullMs)) return undefined;
    // Its name came while no coordinator of this version wrote it: it is not created again.
    const named = (await monitorsCalled(sql, organisation.id, [external_id])).get(external_id);
    if (named !== undefined) await nameUnderPingKeys(sql, organisation.id, [named]);
    const existing = named === undefined ? undefined : await keyOf(sql, ping.key);
    if (existing) return existing;
    try {
      await createHeartbeat(caller, {
        type: 'heartbeat',
        name: external_id,
        external_id,
        ...first,
      });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await refuse(caller, external_id, error);
      return undefined;
    }
    return keyOf(sql, ping.key);
  };
}

/** Acts as a member would, and is named in the audit log by its key. */
function callerBy(
  organisation: Organisation,
  { id, name }: { readonly id: string; readonly name: string },
): Caller {
  return {
    is: 'token',
    organisation,
    user: null,
    role: 'member',
    scope: 'read_write',
    token: { id, name },
  };
}
