import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { isCovered, shutBy } from '../domain/telling/telling-channel.ts';
import { type Flapping, flappingMemoryMs, flappingOf } from '../domain/telling/telling-flapping.ts';
import type { Queryable, Sql } from '../store/store-database.ts';
import { inTransaction } from '../store/store-sql-transactions.ts';
import {
  channelsToPlan,
  type DueEvent,
  type EarlierStep,
  eventsPlanned,
  groupsOfMonitors,
  insertSteps,
  type NewStep,
  outagesOf,
  type PlannedChannel,
  type StoredOutage,
  settleHeld,
  stepsOfIncidents,
  takeDueEvents,
  toldOfFlapping,
} from '../store/store-telling-plan.ts';

/**
 * Makes steps of due events: one for each channel that covers the monitor (rule 30), each once. It decides who is to hear of an event at all;
 * when, is asked of each step by itself (alert-composer.ts).
 */
export type Planner = {
  /** Plans what is due; whether there was anything. */
  readonly plan: () => Promise<boolean>;
};

const most = 100;

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

/** How each incident among these is told, by the outages of its monitor up to it. */
const flappingOfEach = (outages: readonly StoredOutage[]): ReadonlyMap<string, Flapping> =>
  new Map(
    [...Map.groupBy(outages, ({ monitor_id }) => monitor_id).values()].flatMap((own) => {
      const times = own.map(({ incident, confirmed_at, resolved_at }) => ({
        ...{ incident, confirmed_at: confirmed_at.getTime() },
        resolved_at: resolved_at?.getTime() ?? null,
      }));
      return times.map(({ incident }, index) => [incident, flappingOf(times.slice(0, index + 1))] as const);
    }),
  );

const baseOf = ({ organisation_id, monitor_id, incident_id, due_at }: DueEvent) => ({
  ...{ organisation: organisation_id, monitor: monitor_id, incident: incident_id },
  due_at: due_at.getTime(),
});

type Known = {
  readonly channels: ReadonlyMap<string, readonly PlannedChannel[]>;
  readonly groups: ReadonlyMap<string, string | null>;
  readonly flapping: ReadonlyMap<string, Flapping>;
};

/** A "down": for every channel that covers the monitor, with "flapping" before it where it is that. */
const stepsOfDown = (event: DueEvent, { channels, groups, flapping: ofEach }: Known): NewStep[] => {
  const monitor = { id: event.monitor_id, group: groups.get(event.monitor_id) ?? null };
  const flapping = ofEach.get(event.incident_id) ?? 'plain';
  const covering = (channels.get(event.organisation_id) ?? []).filter(({ covers, monitors, groups: chosen }) =>
    isCovered({ covers, monitors: new Set(monitors), groups: new Set(chosen) }, monitor),
  );
  return covering.flatMap((channel) => {
    const shut = shutBy({ ...channel, deleted: false });
    const step = { ...baseOf(event), channel: channel.id, flapping, shut };
    return [...(flapping === 'flapping' ? [{ ...step, event: 'flapping' } as const] : []), { ...step, event: 'down' } as const];
  });
};

/** An end: for exactly those who were told of the beginning (rule 25); of a flapping monitor once it was steady (rule 37). */
const stepsOfEnd = (event: DueEvent, own: readonly EarlierStep[], toldFlapping: readonly string[]): NewStep[] => {
  const base = { ...baseOf(event), event: event.event === 'closed' ? ('closed' as const) : ('up' as const) };
  const told = (of: 'down' | 'flapping') => own.filter((step) => step.event === of && step.state === 'told').map((step) => step.channel_id);
  const direct = told('down');
  const isFlapping = own.some(({ flapping }) => flapping !== 'plain');
  // One that waits yet to be told may be, however short it was.
  const waiting = own.filter(({ event, state }) => event === 'flapping' && state === 'held').map((step) => step.channel_id);
  const steady = isFlapping
    ? unique([...told('flapping'), ...waiting, ...toldFlapping]).filter((channel) => !direct.includes(channel))
    : [];
  return [
    ...direct.map((channel): NewStep => ({ ...base, channel, flapping: 'plain' })),
    ...steady.map((channel): NewStep => ({ ...base, channel, flapping: 'flapping' })),
  ];
};

export const createPlanner = ({ sql, clock, log }: { readonly sql: Sql; readonly clock: Clock; readonly log: Log }): Planner => {
  const downsOf = async (transaction: Queryable, events: readonly DueEvent[], now: number): Promise<NewStep[]> => {
    if (events.length === 0) return [];
    const monitors = unique(events.map(({ monitor_id }) => monitor_id));
    const channels = await channelsToPlan(transaction, unique(events.map(({ organisation_id }) => organisation_id)));
    const groups = await groupsOfMonitors(transaction, monitors);
    const outages = await outagesOf(transaction, monitors, now - flappingMemoryMs);
    const known: Known = {
      channels: Map.groupBy(channels, ({ organisation_id }) => organisation_id),
      groups: new Map(groups.map(({ id, group_id }) => [id, group_id])),
      flapping: flappingOfEach(outages),
    };
    return events.flatMap((event) => stepsOfDown(event, known));
  };

  const endsOf = async (transaction: Queryable, events: readonly DueEvent[], now: number): Promise<NewStep[]> => {
    if (events.length === 0) return [];
    const incidents = events.map(({ incident_id }) => incident_id);
    const earlier = Map.groupBy(await stepsOfIncidents(transaction, incidents), ({ incident_id }) => incident_id);
    const monitors = unique(events.map(({ monitor_id }) => monitor_id));
    const flapping = Map.groupBy(await toldOfFlapping(transaction, monitors, now - flappingMemoryMs), ({ monitor_id }) => monitor_id);
    await settleHeld(transaction, incidents, now);
    return events.flatMap((event) =>
      stepsOfEnd(
        event,
        earlier.get(event.incident_id) ?? [],
        (flapping.get(event.monitor_id) ?? []).map(({ channel_id }) => channel_id),
      ),
    );
  };

  return {
    plan: async () => {
      const now = clock.now();
      const planned = await inTransaction(sql, async (transaction) => {
        const events = await takeDueEvents(transaction, most);
        if (events.length === 0) return undefined;
        const steps = [
          ...(await downsOf(
            transaction,
            events.filter(({ event }) => event === 'down'),
            now,
          )),
          ...(await endsOf(
            transaction,
            events.filter(({ event }) => event !== 'down'),
            now,
          )),
        ];
        await insertSteps(transaction, steps, now);
        await eventsPlanned(
          transaction,
          events.map(({ id }) => id),
          now,
        );
        return { events: events.length, steps: steps.length };
      });
      if (planned) log.info(planned, 'alerts are told');
      return planned !== undefined;
    },
  };
};
