import { isId } from '../../shared/base/crypto.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import {
  type ForwardedPingsMessage,
  forwardedPingsMessage,
  strictJsonOf,
} from '../../shared/bus/messages.ts';
import { handOverInLines, type SpooledPing } from '../../shared/bus/ping-spool.ts';
import type { KnownKey, PingBus } from '../../shared/bus/pings.ts';
import { namedFingerprint } from '../../shared/checks/heartbeat/config.ts';
import type { Sql } from '../database/connect.ts';
import type { Refusals, RefusedReason } from '../health/refusals.ts';
import { type Directory, senderOf } from '../probes/directory.ts';
import type { ProbeRow } from '../probes/queries.ts';
import { creatingPingKeys } from './ping-key-queries.ts';
import { pingKeysByFingerprint } from './queries.ts';

/**
 * Receives pings that a ping receiver kept on its disk and delivers to the coordinator's own
 * address while it cannot reach the bus. They are put on the bus before the ping receiver is told
 * that it may delete them. Without a bus here they stay where they are: moving them from one disk
 * to another gains nothing.
 *
 * Whose pings they are and who received them follows from their keys and from the probe, not from
 * their content. A repeat changes nothing: a ping counts once by its id, whichever way it comes.
 */
export type ForwardedPings = {
  readonly take: (call: {
    readonly probe: string;
    readonly header: (name: string) => string | undefined;
    readonly body: () => Promise<Uint8Array | 'too_large' | 'cut_off'>;
  }) => Promise<ForwardingReply>;
};

type ForwardingReply = {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
};

type Dependencies = {
  readonly sql: Sql;
  readonly pingBus: PingBus;
  readonly byHeart: (key: string) => KnownKey | undefined;
  readonly directory: Directory;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * If it was sent longer ago than this, an eavesdropper repeats it, or the probe's clock is wrong
 * and so are its times.
 */
const wrongTimeMs = 120_000;
/** After this the ping receiver learns how many were received; it delivers the rest again. */
const patienceMs = 5_000;
/** A ping receiver sends one after the other; a second one may be its successor's. */
const maxAtOnce = 2;
/**
 * Anyone may send a body in the name of a probe. It is only proved wrong once it is complete, so at
 * most this many are in memory.
 */
const maxReading = 32;
/**
 * Anyone may call: calls of unknown senders reach the database and the counts of refusals at most
 * this often.
 */
const maxUnknownPerSecond = 20;

const statuses = {
  unknown_probe: 401,
  not_signed: 401,
  revoked_probe: 403,
  wrong_subject: 403,
  oversized: 413,
  malformed: 400,
  unknown_version: 400,
  wrong_time: 409,
} as const satisfies Partial<Record<RefusedReason, number>>;
type Reason = keyof typeof statuses;

export function createForwardedPings(dependencies: Dependencies): ForwardedPings {
  const { sql, pingBus, byHeart, directory, refusals, clock, log } = dependencies;
  const underWay = new Map<string, number>();
  let reading = 0;
  const mayCount = createAllowance(maxUnknownPerSecond);
  const mayRead = createAllowance(maxUnknownPerSecond);
  const known = {
    ...directory,
    refresh: async () => (mayRead() ? directory.refresh() : undefined),
  };

  const refuse = (probe: string, reason: Reason): ForwardingReply => {
    if (mayCount()) refusals.count(probe, reason);
    return reply(statuses[reason], `Refused: ${reason}`);
  };

  /**
   * The pings with what we know of them. No one will ever accept pings with unknown keys, or of
   * monitors outside the probe's reach.
   */
  const recognise = async (
    probe: ProbeRow,
    pings: ForwardedPingsMessage['pings'],
  ): Promise<{ ours: SpooledPing[]; hopeless: string[] }> => {
    const missing = [...new Set(pings.map(({ key }) => key))].filter(
      (key) => byHeart(key) === undefined,
    );
    const rows = missing.length === 0 ? [] : await pingKeysByFingerprint(sql, missing);
    const found = new Map(
      rows.map(({ key, organisation, monitor }) => [key, { organisation, monitor }]),
    );
    const creating = await creatingKeysOf(sql, pings);
    const ours: SpooledPing[] = [];
    const hopeless: string[] = [];
    for (const ping of pings) {
      const { organisation, monitor } =
        byHeart(ping.key) ?? found.get(ping.key) ?? creating.get(ping.key) ?? {};
      const isOurs = probe.organisation_id === null || probe.organisation_id === organisation;
      if (organisation !== undefined && monitor !== undefined && isOurs)
        ours.push({ organisation, monitor, ping: { ...ping, ear: probe.name } });
      else hopeless.push(ping.id);
    }
    if (hopeless.length > 0) refusals.count(probe.id, 'not_its_monitor', hopeless.length);
    return { ours, hopeless };
  };

  const bring = async (
    probe: ProbeRow,
    pings: ForwardedPingsMessage['pings'],
  ): Promise<ForwardingReply> => {
    if (!pingBus.isReady()) return later(503, 'The bus is down here, too');
    const { ours, hopeless } = await recognise(probe, pings);
    const end = performance.now() + patienceMs;
    const { handed, failures } = await handOverInLines(
      ours,
      pingBus.handOver,
      () => performance.now() < end,
    );
    const [failure] = failures;
    if (failure !== undefined)
      log.warn(
        { err: failure, probe: probe.id },
        'the bus did not accept all pings that a ping receiver had stored',
      );
    const done = [...handed, ...hopeless];
    if (done.length === 0) return later(503, 'The bus does not take them');
    return reply(200, JSON.stringify({ v: 1, done }), { 'content-type': 'application/json' });
  };

  const alone = async (
    probe: string,
    work: () => Promise<ForwardingReply>,
  ): Promise<ForwardingReply> => {
    const count = underWay.get(probe) ?? 0;
    if (count >= maxAtOnce) return later(429, 'One after the other');
    underWay.set(probe, count + 1);
    try {
      return await work();
    } finally {
      const left = (underWay.get(probe) ?? 1) - 1;
      if (left > 0) underWay.set(probe, left);
      else underWay.delete(probe);
    }
  };

  const judge: ForwardedPings['take'] = async ({ probe: id, header, body }) => {
    // Before any of the body is awaited.
    const named = isId(id) ? await known.find(id) : undefined;
    if (!named) return refuse(id, 'unknown_probe');
    if (named.revoked_at !== null) return refuse(id, 'revoked_probe');
    if (header('Signature') === undefined) return refuse(id, 'not_signed');
    if (reading >= maxReading) return later(429, 'Too many at once');
    reading += 1;
    const data = await body().finally(() => {
      reading -= 1;
    });
    if (data === 'too_large') return refuse(id, 'oversized');
    if (data === 'cut_off') return refuse(id, 'malformed');
    const probe = await senderOf(id, { data, header }, known, clock.now());
    if ('refused' in probe) return refuse(id, probe.refused);
    const said = parse(data);
    if (typeof said === 'string') return refuse(id, said);
    if (said.probe !== id) return refuse(id, 'wrong_subject');
    if (Math.abs(clock.now() - said.sent_at) > wrongTimeMs) return refuse(id, 'wrong_time');
    return alone(id, () => bring(probe, said.pings));
  };

  return {
    take: async (call) => {
      try {
        return await judge(call);
      } catch (error) {
        log.warn(
          { err: error },
          'could not accept the pings that a ping receiver had stored; it keeps them',
        );
        return later(503, 'Unavailable');
      }
    },
  };
}

/** Allows this many calls a second. */
function createAllowance(perSecond: number): () => boolean {
  let since = Number.NEGATIVE_INFINITY;
  let used = 0;
  return () => {
    const now = performance.now();
    if (now - since >= 1_000) [since, used] = [now, 0];
    used += 1;
    return used <= perSecond;
  };
}

function reply(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): ForwardingReply {
  return {
    status,
    text,
    headers,
  };
}

function later(status: number, text: string): ForwardingReply {
  return reply(status, text, { 'retry-after': '2' });
}

function parse(data: Uint8Array): ForwardedPingsMessage | 'malformed' | 'unknown_version' {
  try {
    const body = strictJsonOf(data);
    const read = forwardedPingsMessage.safeParse(body);
    if (read.success) return read.data;
    return isRecord(body) && typeof body.v === 'number' && body.v !== 1
      ? 'unknown_version'
      : 'malformed';
  } catch {
    return 'malformed'; // An unreadable message is refused like one of the wrong form.
  }
}

/** The ping keys that stand for the monitors that these pings create, by the keys of those. */
async function creatingKeysOf(
  sql: Sql,
  pings: ForwardedPingsMessage['pings'],
): Promise<ReadonlyMap<string, { readonly organisation: string; readonly monitor: string }>> {
  const found = new Map<string, { organisation: string; monitor: string }>();
  const ids = new Set(pings.flatMap(({ create }) => create?.ping_key ?? []));
  const keys = new Map((await creatingPingKeys(sql, [...ids])).map((row) => [row.id, row]));
  for (const { key, create } of pings) {
    const row = create && keys.get(create.ping_key);
    if (row && namedFingerprint(row.fingerprint, create.external_id) === key)
      found.set(key, { organisation: row.organisation, monitor: row.id });
  }
  return found;
}
