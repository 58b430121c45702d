import type { Database } from './database.ts';
import type { Record } from './result-record.ts';
import type { Happening, Story } from './story.ts';
import type { Truth } from './truth.ts';

/** What people outside got, by rules 4, 25 and 28. */

/** What passes between the decision that an alert is due and its arrival. */
const onItsWay = 2_000;

export const faultsOfAlerts = (story: Story, truth: Truth, record: Record, database: Database): string[] => {
  const faults: string[] = [];
  const settledBy = story.end - 60_000;
  for (const { incident: id, event, channel, at, confirmed_at } of record.delivered) {
    const row = database.incidents.get(id);
    const name = `incident ${id}, ${event} to ${channel}`;
    if (!row) {
      faults.push(`${name}: there is no such incident`);
      continue;
    }
    const { monitor, incident } = row;
    const after = story.monitors[monitor]?.alert_after_ms ?? 0;
    if (event !== 'down') {
      if (incident.resolved_at === null) faults.push(`${name}: the incident has not ended`);
      const took = record.delivered.some(
        (each) => each.incident === id && each.event === 'down' && each.channel === channel && each.at <= at,
      );
      if (!took) faults.push(`${name}: this channel never got the "down"`);
      continue;
    }
    if (confirmed_at === null || incident.confirmed_at === null) faults.push(`${name}: the incident was never confirmed`);
    else if (at < confirmed_at + after) faults.push(`${name}: sent ${confirmed_at + after - at} ms before it was due`);
    if (truth.isCovered(monitor, at) && truth.isCovered(monitor, at - onItsWay)) faults.push(`${name}: sent inside cover`);
    if (incident.resolved_at === null || incident.resolved_at > settledBy) continue;
    const ended = record.delivered.some((each) => each.incident === id && each.event !== 'down' && each.channel === channel);
    if (!ended) faults.push(`${name}: nobody told this channel of the end`);
  }
  for (const [id, { rows, monitor }] of database.alerts) {
    const incident = database.incidents.get(id)?.incident;
    for (const channel of story.monitors[monitor]?.channels ?? []) {
      const got = record.delivered.filter((each) => each.incident === id && each.channel === channel);
      if (got.filter(({ event }) => event === 'down').length > 1) faults.push(`incident ${id}: two downs to ${channel}`);
      if (got.filter(({ event }) => event !== 'down').length > 1) faults.push(`incident ${id}: two ends to ${channel}`);
      const waits = rows.some((row) => row.channel === channel && (row.state === 'held' || row.state === 'due'));
      if (waits && incident?.resolved_at != null && incident.resolved_at < settledBy)
        faults.push(`incident ${id}: over, and an alert to ${channel} still waits`);
    }
  }
  return faults;
};

/** Results wait so long at most until all have handed over, and a little until they are decided. */
const handover = 35_000;
const farFelt: readonly Happening['is'][] = ['rough bus', 'probe sick', 'probe skewed', 'probe cut off', 'probe dead', 'continent cut off'];

/** Rule 4: a "down" must not go out when all that probes have seen for long says that it is over. */
export const faultsOfPast = ({ probes, monitors, happenings }: Story, truth: Truth, record: Record, database: Database): string[] => {
  const all = [...new Set(probes.map(({ continent }) => continent))];
  return record.delivered.flatMap(({ incident: id, event, at }) => {
    const row = database.incidents.get(id);
    const spec = row && monitors[row.monitor];
    if (
      event !== 'down' ||
      !row ||
      !spec ||
      // Nobody can know what probes see while the bus is away.
      truth.isBusAway(at) ||
      happenings.some((each) => farFelt.includes(each.is) && each.at < at && each.until + 75 * 60_000 > at)
    )
      return [];
    const places = all.filter((place) => spec.continents === null || spec.continents.includes(place));
    const made = record.made[row.monitor] ?? [];
    const over = places.every((place) => {
      const known = made.filter(({ continent, started }) => continent === place && started < at - handover - spec.timeout_ms);
      // One pass of the only continent ends nothing (rule 14), and nobody could ask for the second.
      const last = known.slice(places.length === 1 ? -2 : -1);
      return last.length > 0 && last.every(({ outcome, started }) => outcome === 'ok' && started > row.incident.started_at);
    });
    const isDown = places.some((place) => truth.isDown(row.monitor, place, at));
    return over && !isDown ? [`incident ${id}: a "down" went out at ${at} for what was long over`] : [];
  });
};

/** When a "down" must go out: when it is due, or at the end of the cover that holds it. */
export const dueAt = (truth: Truth, monitor: number, due: number): number => {
  let time = due;
  for (let step = 0; step < 100 && truth.isCovered(monitor, time); step += 1) {
    time = Math.max(
      ...truth
        .covers(monitor)
        .filter(({ from, to }) => from <= time && time < to)
        .map(({ to }) => to),
    );
  }
  return time;
};
