/** Whether no ping was lost or counted twice, and every silence and every failure is an incident, dated by them (rules 19, 20). Pure. */
import type { Ping } from './jobs.ts';
import type { Incident, StoredPing } from './records.ts';
import { describeIncident } from './verdict.ts';

export type PingVerdict = { readonly taken: number; readonly lost: readonly string[]; readonly crooked: readonly string[] };

/** Judging needs probes on two continents with a fresh view; a silence that lasts so much longer than it may must have been noticed. */
const noticedMs = 75_000;

const at = (time: number): string => new Date(time).toISOString();

const faultsOf = (place: string, pings: readonly StoredPing[], incidents: readonly Incident[], deadlineMs: number): string[] => {
  const goods = pings.filter(({ kind }) => kind === 'success').map((ping) => ping.at);
  const bads = pings.filter(({ kind }) => kind === 'fail').map((ping) => ping.at);
  const faults: string[] = [];
  for (const bad of bads)
    if (!incidents.some(({ started_at, resolved_at }) => started_at <= bad && (resolved_at ?? bad) >= bad))
      faults.push(`${place} failed at ${at(bad)}, and no incident tells of it`);
  for (const [index, good] of goods.entries()) {
    const next = goods[index + 1];
    const due = good + deadlineMs;
    if (next !== undefined && next - due > noticedMs && !incidents.some(({ started_at }) => started_at > good && started_at < next))
      faults.push(`${place} was silent from ${at(good)} to ${at(next)}, and no incident tells of it`);
  }
  for (const incident of incidents) {
    const { started_at, resolved_at, confirmed_at } = incident;
    if (confirmed_at === null) continue;
    const before = goods.findLast((good) => good < started_at);
    // The ping had come in time, to a place that could tell nobody: the incident ends when it is heard of, in the moment of its confirmation.
    if (before !== undefined && before + deadlineMs > started_at && resolved_at === confirmed_at) continue;
    if (!bads.includes(started_at) && (before === undefined || before + deadlineMs !== started_at))
      faults.push(
        `${describeIncident(incident)} started neither at a failure nor at the deadline of the good ping before it, ${before && at(before)}`,
      );
    const after = goods.find((good) => good > started_at);
    // Nothing ends before it was confirmed, by places that had not heard of the ping either.
    if (resolved_at !== (after === undefined ? null : Math.max(after, confirmed_at)))
      faults.push(`${describeIncident(incident)} did not end with the next good ping, ${after && at(after)}`);
  }
  return faults;
};

export const judgePings = (input: {
  readonly places: readonly string[];
  readonly taken: readonly Ping[];
  readonly stored: readonly StoredPing[];
  readonly incidents: readonly Incident[];
  readonly denied: readonly string[];
  readonly deadlineMs: number;
  /** What was taken later is still on its way. */
  readonly until: number;
}): PingVerdict => {
  const { places, taken, stored, incidents, denied, deadlineMs, until } = input;
  const counts = new Map<string, number>();
  for (const { body } of stored) counts.set(body, (counts.get(body) ?? 0) + 1);
  return {
    taken: taken.length,
    lost: taken.flatMap((ping) => (ping.at <= until && !counts.has(ping.body) ? [`${ping.place} ${ping.kind} ${at(ping.at)}`] : [])),
    crooked: [
      ...denied.map((one) => `${one} was told that there is no such address`),
      ...[...counts].flatMap(([body, count]) => (count > 1 ? [`the ping ${body} is there ${count} times`] : [])),
      ...places.flatMap((place) =>
        faultsOf(
          place,
          stored.filter((ping) => ping.place === place),
          incidents.filter((incident) => incident.place === place),
          deadlineMs,
        ),
      ),
    ],
  };
};
