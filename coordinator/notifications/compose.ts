import { newId } from '../../shared/base/crypto.ts';
import { type Clock, type Interval, isoText } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { inTransaction, jsonText } from '../database/sql.ts';
import { continentsOf, sidesOf } from '../incidents/writes.ts';
import { coverOfMonitors } from '../maintenance/cover.ts';
import type { Results } from '../results/reading.ts';
import { ratesOf } from './brownout.ts';
import { type CommonCauses, readCauses, type Telling, writeTold } from './causes.ts';
import type { ChannelKind } from './kinds/types.ts';
import {
  type ComposedChannel,
  type Content,
  contentFrom,
  contentOf,
  isOld,
  type Leaving,
  leavingOf,
  matrixLine,
  messagesOf,
  type NewMessage,
  type WaitingStep,
} from './message.ts';
import { mutesOf } from './mute-queries.ts';
import { type Parents, readParents } from './parents.ts';
import { insertSteps, isOverSince, type NewStep, outagesOf } from './plan.ts';
import {
  type Because,
  type Bucket,
  type CauseToTell,
  decideStep,
  disabledReasonOf,
  flappingMemoryMs,
  gather,
  type HeldBy,
  longestRoundMs,
  reminderAfter,
  type StepEvent,
  type StepOutcome,
  waitForParents,
} from './policy.ts';
import { type WarningStep, warningMessages, warningSteps, withoutNews } from './warnings.ts';

/**
 * Makes messages from steps. It decides for each step whether it is due, and releases due ones as
 * the channel's bucket allows (rule 32). One coordinator at a time composes a channel, because it
 * locks the channel's row. All of it is one transaction.
 */
type Composer = {
  /** Composes what is due. Returns the number of steps that it decided on. */
  readonly compose: () => Promise<number>;
};

const maxChannels = 50;

const ends: readonly StepEvent[] = ['up', 'was_down', 'closed'];

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly kindOf: (id: string) => Pick<ChannelKind, 'gathers'> | undefined;
  readonly results: Pick<Results, 'within'>;
};

type Left<Of> = { readonly channel: ComposedChannel; readonly leaving: readonly Of[] };

type Composed = {
  readonly leaving: Leaving[];
  readonly holds: Hold[];
  readonly drops: { readonly id: number; readonly because: Because }[];
  readonly merged: DownMessage[];
};

export function createComposer({ sql, clock, kindOf, results }: Dependencies): Composer {
  /** Whether what becomes due together for a channel of this kind is told together. */
  const gathers = (kind: string): boolean => kindOf(kind)?.gathers !== false;

  const write = async (
    transaction: Queryable,
    left: readonly Left<Leaving>[],
    news: readonly Left<WarningStep>[],
    now: number,
  ): Promise<void> => {
    if (left.length + news.length === 0) return;
    const organisations = [...left, ...news].map(({ channel }) => channel.organisation_id);
    const down = Map.groupBy(
      await downNow(transaction, [...new Set(organisations)]),
      ({ organisation_id }) => organisation_id,
    );
    const threads = left
      .flatMap(({ leaving }) => leaving.map(({ thread }) => thread))
      .filter((thread) => thread !== '');
    const open = await openInThreads(transaction, [...new Set(threads)]);
    const messages = left.flatMap(({ channel, leaving }) =>
      messagesOf(leaving, channel.gathers).map(({ event, items }): NewMessage => {
        const id = newId();
        const begins = items.some(({ thread }) => thread === '');
        const thread = begins ? id : (items[0]?.thread ?? id);
        const over =
          items.every((item) => ends.includes(item.event)) &&
          (begins || (open.get(thread) ?? 0) === 0);
        const around = {
          organisation: channel.organisation,
          time_zone: channel.time_zone,
          down: down.get(channel.organisation_id) ?? [],
          over,
          now,
        };
        const content = contentOf({ event, items }, around);
        return {
          id,
          event,
          thread,
          told: content,
          organisation: channel.organisation_id,
          channel: channel.id,
          due_at: content.at,
          steps: items.map((item) => ({ id: item.step.id, event: item.event })),
        };
      }),
    );
    const warnings = news.flatMap(({ channel, leaving }) =>
      warningMessages(leaving, {
        channel,
        gathers: channel.gathers,
        down: down.get(channel.organisation_id) ?? [],
        now,
      }),
    );
    await insertMessages(transaction, [...messages, ...warnings], now);
    await insertSteps(
      transaction,
      left.flatMap(({ channel, leaving }) =>
        leaving.flatMap((item) => reminderOf(item, channel, now)),
      ),
      now,
    );
  };

  return {
    compose: () =>
      inTransaction(sql, async (transaction) => {
        const now = clock.now();
        const taken = await takeChannelsWithSteps(transaction, now, maxChannels);
        const channels = taken.map((one) => ({ ...one, gathers: gathers(one.kind) }));
        if (channels.length === 0) return 0;
        const { steps, matrices, isWhole } = await takeSteps(transaction, channels, now);
        const warned = await warningSteps(
          transaction,
          channels.map(({ id }) => id),
          now,
        );
        const round = {
          ...(await readRound(transaction, results, channels, steps, warned, now)),
          matrices,
        };
        const ofChannel = Map.groupBy(steps, ({ channel_id }) => channel_id);
        const warnedOfChannel = Map.groupBy(warned, ({ channel_id }) => channel_id);
        const left: Left<Leaving>[] = [];
        const news: Left<WarningStep>[] = [];
        const buckets: { readonly id: string; readonly bucket: Bucket }[] = [];
        const all: Composed = { leaving: [], holds: [], drops: [], merged: [] };
        for (const channel of channels) {
          const composed = sortOut(channel, ofChannel.get(channel.id) ?? [], round);
          const ofWarnings = sortOutWarnings(channel, warnedOfChannel.get(channel.id) ?? [], round);
          all.holds.push(...composed.holds, ...ofWarnings.holds);
          all.drops.push(...composed.drops, ...ofWarnings.drops);
          if (ofWarnings.leaving.length > 0) news.push({ channel, leaving: ofWarnings.leaving });
          if (composed.leaving.length === 0) continue;
          if (!channel.gathers) {
            left.push({ channel, leaving: composed.leaving });
            all.merged.push(...composed.merged);
            continue;
          }
          const gathered = gather(bucketOf(channel), {
            now,
            more: composed.leaving.some(({ step }) => step.held_by !== 'bucket'),
          });
          buckets.push({ id: channel.id, bucket: gathered.bucket });
          if (gathered.is === 'leaves') {
            left.push({ channel, leaving: composed.leaving });
            all.merged.push(...composed.merged);
          } else
            all.holds.push(
              ...composed.leaving.map(
                ({ step }): Hold => ({
                  id: step.id,
                  by: 'bucket',
                  until: gathered.until,
                  isNew: step.held_by !== 'bucket',
                }),
              ),
            );
        }
        await dropSteps(transaction, all.drops, now);
        await holdSteps(transaction, all.holds, now);
        await mergeSteps(
          transaction,
          all.merged.map(({ step }) => step),
          [...new Set(all.merged.map(({ message_id }) => message_id))],
          now,
        );
        await write(transaction, left, news, now);
        // What there was no room for is told by the next round, and not held as known.
        if (isWhole) await writeTold(transaction, left.flatMap(tellingsOf), now);
        await writeBuckets(transaction, buckets);
        return steps.length + warned.length;
      }),
  };
}

/** The causes that these messages tell of. */
function tellingsOf({ channel, leaving }: Left<Leaving>): Telling[] {
  const told = leaving.flatMap(({ event, said: { common } }) =>
    event === 'down' && common !== null ? [common] : [],
  );
  return [...new Map(told.map(({ id, known }) => [id, known]))].map(([cause, incidents]) => ({
    ...{ channel: channel.id, organisation: channel.organisation_id, cause, incidents },
  }));
}

function reminderOf(
  { step, event }: Leaving,
  { reminder_s }: ComposedChannel,
  now: number,
): NewStep[] {
  if (reminder_s === null || (event !== 'down' && event !== 'reminder')) return [];
  const {
    organisation_id: organisation,
    channel_id: channel,
    monitor_id: monitor,
    incident_id: incident,
  } = step;
  const seq = event === 'down' ? 1 : step.seq + 1;
  const look_at = now + reminderAfter(reminder_s, seq);
  return [
    {
      organisation,
      channel,
      monitor,
      incident,
      seq,
      look_at,
      event: 'reminder',
      due_at: now,
      flapping: 'plain',
    },
  ];
}

/** More than one organisation has monitors: an outage of all of them is one message. */
const maxSteps = 20_000;

/**
 * Reads the due steps. Incidents are checked for their end only after the steps are locked: a
 * planner that planned an "up" meanwhile saw no "down" that was sent.
 */
async function takeSteps(sql: Queryable, channels: readonly ComposedChannel[], now: number) {
  const ids = channels.map(({ id }) => id);
  const held = await waitingSteps(sql, ids, now, maxSteps);
  const incidents = [...new Set(held.map(({ incident_id }) => incident_id))];
  const [resolved, seen] = await Promise.all([
    resolutionsOf(sql, incidents),
    matricesOf(sql, incidents),
  ]);
  const lines = [...Map.groupBy(seen, ({ incident_id }) => incident_id)].map(
    ([incident, rows]) => [incident, matrixLine(rows)] as const,
  );
  return {
    isWhole: held.length < maxSteps,
    steps: held.map((step) => ({ ...step, resolved_at: resolved.get(step.incident_id) ?? null })),
    matrices: new Map(lines),
  };
}

/** Everything that was read for one round. */
type Round = {
  readonly now: number;
  readonly covers: Awaited<ReturnType<typeof coverOfMonitors>>;
  readonly mutes: ReadonlyMap<string, readonly Interval[]>;
  /** When each monitor was last confirmed down. */
  readonly lastDown: ReadonlyMap<string, number>;
  readonly parents: Parents;
  /** The last message about the "down" of each incident, and of each monitor, by its channel. */
  readonly begun: ReadonlyMap<string, DownMessage>;
  /** Of messages that did not leave yet, and of those about incidents that were deleted since. */
  readonly contents: ReadonlyMap<string, Content>;
  readonly matrices: ReadonlyMap<string, string | null>;
  readonly causes: CommonCauses;
  /** Of incidents that are told as flapping, how much passes (brownout.ts). */
  readonly rates: ReadonlyMap<string, string>;
};

async function readRound(
  sql: Queryable,
  results: Pick<Results, 'within'>,
  channels: readonly ComposedChannel[],
  steps: readonly WaitingStep[],
  warned: readonly WarningStep[],
  now: number,
): Promise<Omit<Round, 'matrices'>> {
  const incidentsOf = (some: readonly WaitingStep[]) => [
    ...new Set(some.map(({ incident_id }) => incident_id)),
  ];
  const incidents = incidentsOf(steps);
  const monitorsOf = (some: readonly Pick<WaitingStep, 'monitor_id'>[]) => [
    ...new Set(some.map(({ monitor_id }) => monitor_id)),
  ];
  const flapping = monitorsOf(steps.filter((step) => step.flapping !== 'plain'));
  const since = now - flappingMemoryMs;
  const beginnings = steps.filter(({ event }) => !ends.includes(event));
  // For incidents that are over, mutes and maintenance count as they were at the end.
  const earliest = Math.min(now, ...beginnings.map(({ resolved_at }) => resolved_at ?? now));
  const monitors = monitorsOf([...beginnings, ...warned]);
  const covers = await coverOfMonitors(sql, monitors, {
    from: earliest - 1,
    to: now + longestCoverMs,
  });
  const mutes = await mutesOf(
    sql,
    {
      organisations: [...new Set(channels.map(({ organisation_id }) => organisation_id))],
      monitors,
    },
    earliest,
  );
  const waiting = monitorsOf(
    steps.filter(({ event, held_by }) => event === 'up' && held_by === 'cause'),
  );
  const mayBeDown = [...flapping, ...waiting];
  const outages = mayBeDown.length === 0 ? [] : await outagesOf(sql, mayBeDown, since);
  const downs = await downMessages(
    sql,
    { channels: channels.map(({ id }) => id), incidents, flapping, since },
    now,
  );
  const deleted = new Set(monitorsOf(steps.filter(({ started_at }) => started_at === null)));
  const contents = await contentsOf(sql, [
    ...new Set(
      downs.flatMap(({ state, monitor_id, message_id }) =>
        state === 'waiting' || deleted.has(monitor_id) ? [message_id] : [],
      ),
    ),
  ]);
  const parents = await readParents(
    sql,
    results,
    steps.filter(({ event }) => event === 'down' || event === 'flapping'),
    { since: earliest - 2 * longestRoundMs, now },
  );
  const causes = await readCauses(
    sql,
    channels.filter(({ gathers }) => gathers).map(({ id }) => id),
    incidents,
  );
  const told = incidentsOf(steps.filter(({ event }) => event === 'flapping'));
  const rates = told.length === 0 ? new Map() : await ratesOf(sql, results, told, now);
  return {
    now,
    covers,
    mutes,
    parents,
    causes,
    begun: new Map(
      downs.flatMap((down) => [
        [`${down.channel_id} ${down.incident_id}`, down] as const,
        [`${down.channel_id} ${down.monitor_id}`, down] as const,
      ]),
    ),
    contents,
    rates,
    lastDown: new Map(outages.map(({ monitor_id, confirmed_at }) => [monitor_id, confirmed_at])),
  };
}

/**
 * How long an "up" waits before it checks again whether its "down" is still being sent, and a
 * "down" whether its parents have answered.
 */
const againMs = 500;

/** Decides every step of one channel, apart from its bucket. */
function sortOut(channel: ComposedChannel, steps: readonly WaitingStep[], round: Round): Composed {
  const out: Composed = { leaving: [], holds: [], drops: [], merged: [] };
  const hold = (step: WaitingStep, by: Hold['by'], until: number, parent?: string) =>
    out.holds.push({ id: step.id, by, until, isNew: step.held_by !== by, parent });
  for (const step of steps) {
    const outcome = outcomeOfStep(step, channel, round);
    if (outcome.is === 'dropped') out.drops.push({ id: step.id, because: outcome.because });
    else if (outcome.is === 'held') hold(step, outcome.by, outcome.until, outcome.parent);
    else {
      const begun = beginningOf(step, round);
      const isEnd = ends.includes(step.event);
      const isOvertaken = isEnd && begun?.state === 'waiting';
      if (isOvertaken && begun.claimed) hold(step, 'down_on_its_way', round.now + againMs);
      else if (
        isEnd &&
        (begun?.state === 'refused' ||
          begun?.state === 'failed' ||
          (begun === undefined && step.event !== 'was_down'))
      )
        out.drops.push({ id: step.id, because: 'never_told' });
      else {
        if (isOvertaken) out.merged.push(begun);
        // One that stays down after it was told as flapping goes on in that thread, whose end is its.
        const begins =
          step.event === 'flapping' ||
          (step.event === 'down' && step.flapping === 'plain') ||
          isOvertaken ||
          begun === undefined;
        const content = begun && round.contents.get(begun.message_id);
        const before =
          step.started_at === null
            ? content?.monitors.find(({ incident }) => incident === step.incident_id)
            : undefined;
        out.leaving.push(
          leavingOf(step, {
            event: isOvertaken ? 'was_down' : (outcome.as ?? step.event),
            // A message that begins a thread has no thread yet: its own id becomes the thread's
            // name.
            thread: begins ? '' : begun.thread_id,
            steady: step.event === 'up' && step.flapping !== 'plain',
            rate: step.event === 'flapping' ? (round.rates.get(step.incident_id) ?? null) : null,
            waited: isOvertaken && content !== undefined && isOld(content.at, round.now),
            matrix: round.matrices.get(step.incident_id) ?? null,
            common: round.causes.of(channel.id, step.incident_id),
            before,
          }),
        );
      }
    }
  }
  return out;
}

/** Decides every step of warnings of one channel. What leaves is no part of its bucket. */
function sortOutWarnings(
  channel: ComposedChannel,
  steps: readonly WarningStep[],
  round: Round,
): Pick<Composed, 'holds' | 'drops'> & { readonly leaving: readonly WarningStep[] } {
  const out: Pick<Composed, 'holds' | 'drops'> & { leaving: WarningStep[] } = {
    leaving: [],
    holds: [],
    drops: [],
  };
  const old = withoutNews(steps);
  for (const step of steps) {
    const outcome = outcomeOfWarning(step, channel, round);
    if (outcome.is === 'dropped') out.drops.push({ id: step.id, because: outcome.because });
    else if (old.includes(step)) out.drops.push({ id: step.id, because: 'over' });
    else if (outcome.is === 'due') out.leaving.push(step);
    else {
      const { by, until } = outcome;
      out.holds.push({ id: step.id, by, until, isNew: step.held_by !== by });
    }
  }
  return out;
}

function outcomeOfWarning(
  { event, due_at: at, monitor_id }: WarningStep,
  channel: ComposedChannel,
  round: Round,
): StepOutcome {
  return decideStep(
    { event, due_at: at, not_before: at },
    {
      incident: { started_at: at, confirmed_at: at, ended_at: null, acknowledged_at: null },
      channel: { shut: disabledReasonOf(channel), delay_s: channel.delay_s, hours: channel.hours },
      cover: round.covers.get(monitor_id) ?? [],
      muted_until: mutedUntil(mutesOn(channel, monitor_id, round), round.now),
      parents: [],
      parents_awaited: null,
      cause: null,
      flapping: 'plain',
      waits_for_steadiness: false,
      down_again: false,
      gathered: false,
    },
    round.now,
  );
}

function mutesOn(
  { organisation_id }: ComposedChannel,
  monitor: string,
  { mutes }: Round,
): readonly Interval[] {
  return [organisation_id, monitor].flatMap((of) => mutes.get(of) ?? []);
}

function outcomeOfStep(step: WaitingStep, channel: ComposedChannel, round: Round): StepOutcome {
  const { monitor_id, event, flapping, due_at } = step;
  // A deleted monitor took its incidents along, so they are over.
  const isEnd = ends.includes(event);
  // The recipient got no message by then, so there is nothing left to say.
  const ended_at = step.started_at === null ? due_at - (isEnd ? 0 : 1) : step.resolved_at;
  return decideStep(
    { event, due_at, not_before: step.look_at },
    {
      incident: {
        started_at: step.started_at ?? due_at,
        confirmed_at: step.confirmed_at ?? due_at,
        ended_at,
        acknowledged_at: step.acknowledged_at,
      },
      channel: { shut: disabledReasonOf(channel), delay_s: channel.delay_s, hours: channel.hours },
      cover: round.covers.get(monitor_id) ?? [],
      muted_until: mutedUntil(
        mutesOn(channel, monitor_id, round),
        Math.min(ended_at ?? round.now, round.now),
      ),
      parents: round.parents.outages.get(monitor_id) ?? [],
      parents_awaited: round.parents.unanswered.has(monitor_id)
        ? waitForParents(step.created_at)
        : null,
      cause: causeToTell(step, channel, round),
      flapping: isEnd ? 'plain' : flapping,
      waits_for_steadiness: event === 'up' && flapping !== 'plain',
      down_again: (round.lastDown.get(monitor_id) ?? 0) > (ended_at ?? due_at),
      gathered:
        event === 'down' &&
        step.held_by === 'bucket' &&
        flapping === 'plain' &&
        step.started_at !== null,
    },
    round.now,
  );
}

function causeToTell(
  { incident_id, was_told }: WaitingStep,
  { id }: ComposedChannel,
  { causes }: Round,
): CauseToTell | null {
  const cause = causes.of(id, incident_id);
  return cause && { ...cause, was_told };
}

/** How far ahead it is read when maintenance ends. */
const longestCoverMs = 86_400_000;
/** A mute may end earlier than it says, so what it holds is decided again after an hour. */
const longestHoldMs = 3_600_000;

function mutedUntil(mutes: readonly Interval[], at: number): number | null {
  const until = mutes.filter(({ from, to }) => from <= at && at < to).map(({ to }) => to);
  return until.length === 0 ? null : Math.min(Math.max(...until), at + longestHoldMs);
}

/** The last message about the "down" of this step's incident. */
function beginningOf(step: WaitingStep, { begun }: Round): DownMessage | undefined {
  const of = (id: string) => begun.get(`${step.channel_id} ${id}`);
  return of(step.incident_id) ?? (step.flapping === 'plain' ? undefined : of(step.monitor_id));
}

function bucketOf({ bucket_full_at, gathering_since, gathered_at }: ComposedChannel): Bucket {
  return {
    fullAt: bucket_full_at,
    since: gathering_since,
    newest: gathered_at,
  };
}

/** Locks channels with due steps, and skips those that another coordinator has locked. */
function takeChannelsWithSteps(
  sql: Queryable,
  now: number,
  limit: number,
): Promise<Omit<ComposedChannel, 'gathers'>[]> {
  return sql<ComposedChannel[]>`
    select c.id, c.organisation_id, o.name as organisation, o.time_zone, c.kind, c.enabled,
      c.deleted_at is not null as deleted,
      c.verified_at is not null as verified, c.unsubscribed_at is not null as unsubscribed,
        c.delay_s, c.reminder_s, c.hours, c.bucket_full_at,
      c.gathering_since, c.gathered_at
    from channels c join organisations o on o.id = c.organisation_id
    where c.id in (select channel_id from alert_steps where state = 'held'
      and look_at <= ${new Date(now)} group by channel_id
      order by min(look_at) limit ${limit})
    for no key update of c skip locked`;
}

/**
 * Due steps of these channels, oldest first, with everything that a message says about them. What a
 * monitor was told of before is read first (`offset 0`): it is little, and a cause has thousands.
 */
function waitingSteps(
  sql: Queryable,
  channels: readonly string[],
  now: number,
  limit: number,
): Promise<WaitingStep[]> {
  return sql<WaitingStep[]>`
    select s.id, s.channel_id, s.organisation_id, s.monitor_id, s.incident_id, s.event, s.seq,
      s.due_at, s.look_at, s.created_at, s.flapping,
      s.holds -> -1 ->> 0 as held_by,
      s.first_told_at is not null or exists (
        select from (select incident_id from alert_steps p
            where p.monitor_id = s.monitor_id and p.channel_id = s.channel_id and p.event = 'down'
              and p.state = 'told' and p.incident_id <> s.incident_id offset 0) p
          join cause_members t on t.incident_id = p.incident_id
          join cause_members n on n.cause_id = t.cause_id and n.incident_id = s.incident_id) as was_told,
      i.started_at, i.confirmed_at, i.resolved_at, i.acknowledged_at, i.acknowledged_as, i.cause,
        i.scope, i.layer,
      ${continentsOf(sql)} as continents, ${sidesOf(sql)} as sides, i.seen_probe, i.seen_continent,
      i.confirmed_probe, i.confirmed_continent,
      (select n.cause_id from cause_members n where n.incident_id = i.id) as cause_id, m.name as monitor_name, m.target, m.type,
        g.name as group_name
    from alert_steps s left join incidents i on i.id = s.incident_id left join monitors m
      on m.id = s.monitor_id left join groups g on g.id = m.group_id
    where s.state = 'held' and s.incident_id is not null and s.look_at <= ${new Date(now)}
      and s.channel_id = any(${channels}::uuid[])
    order by s.id limit ${limit} for update of s`;
}

/** When these incidents ended. Open and deleted incidents are absent. */
async function resolutionsOf(
  sql: Queryable,
  incidents: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ id: string; resolved_at: number }[]>`
    select id, resolved_at from incidents where id = any(${incidents}::uuid[])
      and resolved_at is not null`;
  return new Map(rows.map(({ id, resolved_at }) => [id, resolved_at]));
}

type DownMessage = {
  readonly step: number;
  readonly incident_id: string;
  readonly monitor_id: string;
  readonly channel_id: string;
  readonly event: 'down' | 'flapping';
  readonly message_id: string;
  readonly thread_id: string;
  readonly state: 'waiting' | 'delivered' | 'refused' | 'failed' | 'superseded';
  readonly claimed: boolean;
};

/**
 * The messages that notified channels of these incidents' "down", or lately that these monitors are
 * flapping. The rows are locked, so no one starts to send one meanwhile.
 */
function downMessages(
  sql: Queryable,
  of: {
    readonly channels: readonly string[];
    readonly incidents: readonly string[];
    readonly flapping: readonly string[];
    readonly since: number;
  },
  now: number,
): Promise<DownMessage[]> {
  return sql<DownMessage[]>`
    select s.id as step, s.incident_id, s.monitor_id, s.channel_id, s.event, m.id as message_id,
      m.thread_id, m.state,
      coalesce(m.claimed_until > ${new Date(now)}, false) as claimed
    from alert_steps s join deliveries m on m.id = s.message_id
    where s.channel_id = any(${of.channels}::uuid[]) and s.state = 'told'
      and s.event in ('down', 'flapping') and (
      s.incident_id = any(${of.incidents}::uuid[])
      or s.event = 'flapping' and s.monitor_id = any(${of.flapping}::uuid[])
      and s.due_at > ${new Date(of.since)} and not ${isOverSince(sql)})
    order by m.key, s.id for update of m`;
}

/** What these messages say, each read once: one about ten thousand monitors is megabytes. */
async function contentsOf(
  sql: Queryable,
  messages: readonly string[],
): Promise<ReadonlyMap<string, Content>> {
  if (messages.length === 0) return new Map();
  const rows = await sql<{ id: string; told: unknown }[]>`
    select id, told from deliveries where id = any(${messages}::uuid[])`;
  return new Map(rows.map(({ id, told }) => [id, contentFrom(told)]));
}

/**
 * How many of the incidents in these threads are still open. Threads without open incidents are
 * absent.
 */
async function openInThreads(
  sql: Queryable,
  threads: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ thread_id: string; count: number }[]>`
    select m.thread_id, count(distinct i.id) as count from deliveries m
    join alert_steps s on s.message_id = m.id and s.event in ('down', 'flapping')
      and s.state = 'told'
    join incidents i on i.id = s.incident_id and i.resolved_at is null
    where m.thread_id = any(${threads}::uuid[]) group by m.thread_id`;
  return new Map(rows.map(({ thread_id, count }) => [thread_id, count]));
}

/** What each continent observed of these incidents (rule 15), without private places beside them. */
function matricesOf(
  sql: Queryable,
  incidents: readonly string[],
): Promise<{ incident_id: string; continent: string; failed: boolean }[]> {
  return sql`select incident_id, continent, bool_or(outcome = 1) as failed from incident_evidence
    where incident_id = any(${incidents}::uuid[]) and continent <> '' and outcome < 2
      and continent not like '%/%'
    group by incident_id, continent order by continent`;
}

/** What is down in these organisations, newest first. */
function downNow(
  sql: Queryable,
  organisations: readonly string[],
): Promise<{ organisation_id: string; incident: string; name: string }[]> {
  return sql`select i.organisation_id, i.id as incident, m.name from incidents i join monitors m
    on m.id = i.monitor_id
    where i.organisation_id = any(${organisations}::uuid[]) and i.resolved_at is null
      and i.confirmed_at is not null order by i.key desc`;
}

type Hold = {
  readonly id: number;
  readonly by: HeldBy;
  readonly until: number;
  readonly isNew: boolean;
  /** The parent that is down. */
  readonly parent?: string | undefined;
};

/** When these are decided again, because they may end earlier than they say. */
const againAfterMs: Partial<Readonly<Record<HeldBy, number>>> = {
  maintenance: 5_000,
  dependency: 5_000,
  cause: 60_000,
  parent_check: againMs,
};

/**
 * Holds each step until its next decision. A hold for a different reason is recorded; a hold for
 * the same reason is extended.
 */
async function holdSteps(sql: Queryable, holds: readonly Hold[], now: number): Promise<void> {
  if (holds.length === 0) return;
  const rows = holds.map(({ id, by, until, isNew, parent }) => ({
    id,
    look_at: new Date(Math.min(until, now + (againAfterMs[by] ?? until))).toISOString(),
    until_ms: until,
    hold: isNew ? [[by, now, until, ...(parent === undefined ? [] : [parent])]] : null,
  }));
  await sql`
    update alert_steps s set look_at = h.look_at,
      holds = case when h.hold is null then jsonb_set(s.holds, '{-1,2}', h.until_ms)
        else s.holds || h.hold end
    from json_to_recordset(${jsonText(rows)}::text::json) as h (id bigint, look_at timestamptz,
      until_ms jsonb, hold jsonb) where s.id = h.id`;
}

async function dropSteps(
  sql: Queryable,
  drops: readonly { readonly id: number; readonly because: Because }[],
  now: number,
): Promise<void> {
  if (drops.length === 0) return;
  await sql`
    update alert_steps s set state = 'dropped', because = d.because, settled_at = ${new Date(now)}
    from json_to_recordset(${jsonText([...drops])}::text::json) as d (id bigint, because text)
    where s.id = d.id`;
}

/**
 * Ends "down" steps whose incident ended before their message was accepted. Their messages are
 * done; whatever else these said goes out again in other messages.
 */
async function mergeSteps(
  sql: Queryable,
  steps: readonly number[],
  messages: readonly string[],
  now: number,
): Promise<void> {
  if (steps.length === 0) return;
  const at = new Date(now);
  await sql`update alert_steps set state = 'merged', settled_at = ${at}
    where id = any(${steps}::bigint[])`;
  await sql`update deliveries set state = 'superseded', settled_at = ${at}
    where id = any(${messages}::uuid[])`;
  await sql`update alert_steps
    set state = 'held', look_at = ${at}, message_id = null, settled_at = null
    where message_id = any(${messages}::uuid[]) and state = 'told'`;
}

async function insertMessages(
  sql: Queryable,
  messages: readonly NewMessage[],
  now: number,
): Promise<void> {
  if (messages.length === 0) return;
  const at = new Date(now);
  const rows = messages.map(({ steps, due_at, ...rest }) => ({
    ...rest,
    due_at: new Date(due_at).toISOString(),
  }));
  await sql`
    insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at,
      created_at, next_at)
    select id, organisation, channel, event, thread, told, 'waiting', due_at, ${at}, ${at}
    from json_to_recordset(${jsonText(rows)}::text::json) as m (id uuid, organisation uuid,
      channel uuid, event text, thread uuid, told jsonb,
      due_at timestamptz)`;
  const steps = messages.flatMap(({ id: message, steps: told }) =>
    told.map((step) => ({ ...step, message })),
  );
  await sql`
    update alert_steps s
    set state = 'told', event = t.event, message_id = t.message, settled_at = ${at},
      first_told_at = coalesce(s.first_told_at, ${at})
    from json_to_recordset(${jsonText(steps)}::text::json) as t (id bigint, event text,
      message uuid) where s.id = t.id`;
}

async function writeBuckets(
  sql: Queryable,
  buckets: readonly { readonly id: string; readonly bucket: Bucket }[],
): Promise<void> {
  if (buckets.length === 0) return;
  const rows = buckets.map(({ id, bucket: { fullAt, since, newest } }) => ({
    id,
    full_at: isoText(fullAt),
    since: isoText(since),
    newest: isoText(newest),
  }));
  await sql`update channels c
    set bucket_full_at = b.full_at, gathering_since = b.since, gathered_at = b.newest
    from json_to_recordset(${jsonText(rows)}::text::json) as b (id uuid, full_at timestamptz,
      since timestamptz, newest timestamptz)
    where c.id = b.id`;
}
