import { decide, nextTick } from '../../coordinator/core/decide.ts';
import { checkpointOf, createState, restore } from '../../coordinator/core/lifecycle.ts';
import type { Effect, Incident, MonitorEvent, SeenResult } from '../../coordinator/core/types.ts';
import { isLate, isMadeUpFor, seenOf } from '../../coordinator/heartbeats/ping-relay.ts';
import type { PingRow } from '../../coordinator/heartbeats/queries.ts';
import { settlingAfter, usualSettlingMs } from '../../probe/schedule/heartbeats.ts';
import { type Continent, isContinent } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import {
  foldPing,
  judgePings,
  nextRecheckAt,
  noPings,
} from '../../shared/checks/heartbeat/state.ts';
import { createAgenda } from './agenda.ts';
import { type Alert, faultsOfHeartbeat, type Outcome } from './heartbeat-oracle.ts';
import type { Away, HeartbeatStory, Ping } from './heartbeat-story.ts';
import { noise, smallestThatFails } from './story.ts';

/**
 * Lives a job's story with the real judgement and the real core: ping receivers that keep pings
 * while the bus is away, probes that judge the record on the bus and are blind until it has
 * settled, and a coordinator that may be away, hears some things twice, and things of different
 * places in any order.
 */

const continents: readonly Continent[] = ['Europe', 'Asia', 'North America'];
const lostAfter = 15_000;
const settleMs = 500;
const againMs = 5_000;
/**
 * What was kept is decided together, once all have had time to hand it over; by some at once, so
 * that nothing hangs on this.
 */
const longestHold = 6_000;

/** What waits to be decided: a result, or a ping that the relay brings. */
type Waiting = { readonly at: number; readonly what: SeenResult | Ping };

export const liveHeartbeat = (story: HeartbeatStory): Outcome => {
  const { seed, start, end, interval_ms, grace_ms, max_run_ms } = story;
  const agenda = createAgenda(start);
  const terms = { interval_ms, grace_ms, max_run_ms, schedule: null };
  const isIn = (is: Away['is'], time: number) =>
    story.aways.some((away) => away.is === is && away.at <= time && time < away.until);
  const heldFor = noise(seed, 3, 1, 43) < 0.5 ? longestHold : 0;
  let rolls = 0;
  const between = (least: number, limit: number) => {
    rolls += 1;
    return least + Math.floor(noise(seed, 1, rolls, 41) * (limit - least + 1));
  };

  const watched = {
    id: 'job',
    organisation: 'one',
    kind: 'heartbeat' as const,
    interval_ms,
    timeout_ms: 10_000,
    continents: null,
    probe: null,
    config_version: 1,
    alert_after_ms: 0,
    sampled: false,
    created_at: start,
    paused_at: null,
  };
  const monitor = {
    id: 'job',
    organisation_id: 'one',
    partition: 0,
    interval_s: interval_ms / 1_000,
    config: {
      grace_s: grace_ms / 1_000,
      ...(max_run_ms === null ? {} : { max_run_s: max_run_ms / 1_000 }),
    },
  };
  let state = createState(watched);
  let record = noPings;
  const incidents = new Map<string, { incident: Incident; confirmedWhen: number | null }>();
  const alerts: Alert[] = [];
  /** By incident: when its "down" is due. */
  const dueAt = new Map<string, number>();
  let ids = 0;

  /**
   * The first probe is the one that is cut off at times: after a while it is lost, and another
   * judges.
   */
  const roster = (): Roster => {
    const isLost =
      isIn('judge cut off', agenda.now()) && isIn('judge cut off', agenda.now() - lostAfter);
    const probes = continents.map((continent, index) => ({
      id: `probe-${index}`,
      name: `probe-${index}`,
      continent,
      organisation: null,
      quarantined: false,
      healthy: index > 0 || !isLost,
    }));
    return { epoch: 1, probes };
  };

  const tell = (event: MonitorEvent) => {
    const newId = () => {
      ids += 1;
      return `id-${ids}`;
    };
    const decision = decide(state, event, { now: agenda.now(), network: roster(), newId });
    state = decision.state;
    for (const effect of decision.effects) carryOut(effect);
    tickLater();
  };

  let tickAt = Number.POSITIVE_INFINITY;
  const tickLater = () => {
    const due = nextTick(state, roster());
    if (due === null || Math.max(due, agenda.now() + 100) >= tickAt) return;
    tickAt = Math.max(due, agenda.now() + 100);
    const mine = tickAt;
    agenda.at(mine, () => {
      if (tickAt !== mine) return;
      tickAt = Number.POSITIVE_INFINITY;
      if (!isIn('coordinator down', agenda.now())) tell({ is: 'tick' });
    });
  };

  /** A "down" that is due at another time since its incident was dated anew is no second one. */
  const raised = (effect: Extract<Effect, { is: 'alert' }>) => {
    const { event, incident } = effect;
    const due = dueAt.get(incident);
    const isMoved = effect.event === 'down' && due !== undefined && due !== effect.due_at;
    if (effect.event === 'down') dueAt.set(incident, effect.due_at);
    if (!isMoved) alerts.push({ event, incident });
  };

  const carryOut = (effect: Effect) => {
    if (effect.is === 'incident') {
      const before = incidents.get(effect.incident.id);
      const confirmedWhen =
        before?.confirmedWhen ?? (effect.incident.confirmed_at === null ? null : agenda.now());
      incidents.set(effect.incident.id, { incident: effect.incident, confirmedWhen });
    }
    if (effect.is === 'alert') raised(effect);
    if (effect.is !== 'look') return;
    for (const place of effect.places) {
      const probe = isContinent(place) ? continents.indexOf(place) : -1;
      agenda.at(agenda.now() + between(5, 80), () => canSee(probe) && judge(probe, effect.look));
    }
  };

  /** What the database has: every ping that the relay wrote down, and what they come to. */
  let written: PingRow[] = [];
  let folded = noPings;
  const relay = (ping: Ping) => {
    const { state: next, run_ms } = foldPing(folded, ping);
    const row: PingRow = { ...ping, monitor: 'job', run_ms, method: 'GET', body: '', ear: 'ear' };
    const told = { row, monitor, isMadeUpFor: isMadeUpFor(row, next), isLate: isLate(row, folded) };
    folded = next;
    written = [...written.filter(({ id }) => id !== row.id), row];
    for (const ping of seenOf(told, written, null)) tell({ is: 'ping', ping });
  };
  const work = ({ what }: Waiting, handed_over: boolean) => {
    if ('kind' in what) relay(what);
    else tell({ is: 'result', result: { ...what, handed_over } });
  };

  /** What waits for the coordinator, or for the bus on its way there. */
  let kept: Waiting[] = [];
  let heldUntil = Number.NEGATIVE_INFINITY;
  const isReached = () =>
    !isIn('bus away', agenda.now()) && !isIn('coordinator down', agenda.now());
  const isRefused = () => isIn('database refuses', agenda.now());
  /**
   * What could not be written down comes again: pings each in its own time, results in their order.
   */
  const comeAgain = (waiting: Waiting) => {
    const ends = Math.max(
      ...story.aways
        .filter(({ is, at }) => is === 'database refuses' && at <= agenda.now())
        .map(({ until }) => until),
    );
    agenda.at('kind' in waiting.what ? agenda.now() + between(200, 3_000) : ends + 100, () =>
      arrive(waiting),
    );
  };
  const arrive = (waiting: Waiting) => {
    if (!isReached() || agenda.now() < heldUntil) kept.push(waiting);
    else if (isRefused()) comeAgain(waiting);
    else work(waiting, false);
  };
  const decideKept = () => {
    if (!isReached() || agenda.now() < heldUntil) return;
    const all = kept.toSorted((a, b) => a.at - b.at);
    kept = [];
    if (isRefused()) for (const waiting of all) comeAgain(waiting);
    else for (const waiting of all) work(waiting, true);
    tell({ is: 'tick' });
  };

  /** The bus gives pings in the order in which it has them; now and then it gives one again. */
  let lastGiven = start;
  const give = (ping: Ping) => {
    lastGiven = Math.max(agenda.now() + between(5, 300), lastGiven + 1);
    agenda.at(lastGiven, () => arrive({ at: ping.at, what: ping }));
    if (noise(seed, 2, rolls, 42) < 0.1)
      agenda.at(lastGiven + between(50, 4_000), () => arrive({ at: ping.at, what: ping }));
  };

  /**
   * Two ping receivers take them: what each keeps while the bus is away goes there in order, with
   * what comes after; but one before the other.
   */
  const onDisk: [Ping[], Ping[]] = [[], []];
  const take = (ping: Ping) => {
    const disk = onDisk[noise(seed, 4, ping.at % 1_000_003, 44) < 0.7 ? 0 : 1];
    if (isIn('bus away', agenda.now()) || disk.length > 0) disk.push(ping);
    else handOver(ping);
  };
  const handOver = (ping: Ping) => {
    record = foldPing(record, ping).state;
    give(ping);
  };

  const lastAway = (probe: number): Away | undefined =>
    story.aways.findLast(
      ({ is, at }) =>
        at <= agenda.now() && (is === 'bus away' || (is === 'judge cut off' && probe === 0)),
    );
  /** Blind while the bus is away from it, and until the record has settled after that. */
  const canSee = (probe: number): boolean => {
    const away = lastAway(probe);
    return (
      away === undefined ||
      agenda.now() >= away.until + settlingAfter(away.until - away.at, usualSettlingMs)
    );
  };

  const seqs = continents.map(() => 0);
  const lastHeard = continents.map(() => 0);
  const judge = (probe: number, recheck: string | null) => {
    const at = agenda.now();
    const continent = continents[probe];
    const judgement = judgePings(record, terms, at);
    const next = nextRecheckAt(judgement, record, terms, at);
    if (continent === undefined || judgement.is === 'pending') return next;
    seqs[probe] = (seqs[probe] ?? 0) + 1;
    const seq = seqs[probe] ?? 0;
    const failed = judgement.is === 'failing';
    const result: SeenResult = {
      seq,
      monitor: 'job',
      config_version: 1,
      at,
      took_ms: 1,
      outcome: failed ? 'fail' : 'ok',
      phases: null,
      evidence: null,
      cause: failed ? judgement.cause : null,
      look: recheck,
      quarantined: false,
      handed_over: false,
      from: { probe: `probe-${probe}`, name: `probe-${probe}`, continent },
    };
    // Of one probe in order, however long each is under way.
    const arrival = Math.max(at + between(5, 300), (lastHeard[probe] ?? 0) + 1);
    lastHeard[probe] = arrival;
    const isCut = () => probe === 0 && isIn('judge cut off', agenda.now());
    const land = () => {
      if (isCut()) agenda.at(agenda.now() + 1_000, land);
      else arrive({ at, what: result });
    };
    agenda.at(arrival, land);
    return next;
  };

  let armedAt = Number.POSITIVE_INFINITY;
  const arm = (at: number) => {
    armedAt = at;
    if (!Number.isFinite(at)) return;
    agenda.at(at, () => {
      if (armedAt !== at) return;
      const probe = roster().probes.findIndex(({ healthy }) => healthy);
      arm(canSee(probe) ? judge(probe, null) + settleMs : agenda.now() + againMs);
    });
  };
  /** Who becomes the judge anew looks soon. */
  const lookSoon = () => arm(Math.min(armedAt, agenda.now() + between(100, 1_000)));

  for (const ping of story.pings) agenda.at(ping.at, () => take(ping));
  for (const { is, at, until } of story.aways) {
    agenda.at(at + lostAfter, () => {
      if (is === 'judge cut off' && agenda.now() < until) lookSoon();
    });
    agenda.at(until, () => {
      lookSoon();
      if (is === 'judge cut off') return;
      if (is === 'database refuses') return;
      for (const disk of onDisk)
        agenda.at(
          until + between(200, 2_500),
          () => isIn('bus away', agenda.now()) || disk.splice(0).forEach(handOver),
        );
      heldUntil = agenda.now() + heldFor;
      if (is === 'coordinator down')
        state = restore({
          watched,
          checkpoint: checkpointOf(state),
          results: [],
          resumed_at: null,
          incident: state.incident,
          closed: state.closed,
          gaps: state.gaps,
        });
      agenda.at(heldUntil, decideKept);
    });
  }
  lookSoon();
  while (agenda.now() < end && agenda.step());
  return { incidents: [...incidents.values()], alerts };
};

/** The first thing that is wrong with how a job's story was lived. */
export const heartbeatFault = (story: HeartbeatStory): string | undefined =>
  faultsOfHeartbeat(story, liveHeartbeat(story))[0];

/** What is wrong, without its numbers: a shorter story has other times for the same fault. */
const kindOf = (fault: string): string => fault.replaceAll(/\d+|null/g, '#');

/** Smaller stories, the boldest first. */
function* smaller(story: HeartbeatStory): Generator<HeartbeatStory> {
  for (const list of ['aways', 'pings'] as const) {
    const { length } = story[list];
    for (let size = Math.ceil(length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < length; from += size)
        yield { ...story, [list]: story[list].toSpliced(from, size) };
    }
  }
  const last = Math.max(
    story.start,
    ...story.pings.map(({ at }) => at),
    ...story.aways.map(({ until }) => until),
  );
  const soon = last + 3 * (story.interval_ms + story.grace_ms) + 120_000;
  if (story.end > soon) yield { ...story, end: soon };
}

/** The shortest story that ends as badly, as far as so many attempts find it. */
export const shrinkHeartbeat = (
  story: HeartbeatStory,
  attempts = 2_000,
): { readonly story: HeartbeatStory; readonly fault: string } =>
  smallestThatFails(story, { faultOf: heartbeatFault, kindOf, smaller }, attempts);

/** The story as people read it; times are seconds from its start. */
export const describeHeartbeat = ({
  seed,
  start,
  end,
  interval_ms,
  grace_ms,
  max_run_ms,
  pings,
  aways,
}: HeartbeatStory): string => {
  const since = (time: number): string => ((time - start) / 1_000).toFixed(3);
  const happenings = [
    ...pings.map(({ at, kind, rid }) => ({
      at,
      text: `${kind}${rid === null ? '' : ` of ${rid}`}`,
    })),
    ...aways.map(({ at, until, is }) => ({ at, text: `${is} until ${since(until)}` })),
  ];
  return [
    `job ${seed} from ${start}, every ${interval_ms / 1_000} s, grace ${grace_ms / 1_000} s${max_run_ms === null ? '' : `, runs of at most ${max_run_ms / 1_000} s`}`,
    ...happenings.toSorted((a, b) => a.at - b.at).map(({ at, text }) => `${since(at)} ${text}`),
    `${since(end)} the end`,
  ].join('\n');
};
