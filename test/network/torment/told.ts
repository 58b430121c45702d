/**
 * Whether everybody was told what the rules say (25, 28, 30 to 33, 37), counted at those who were told: each outage once, its end once and after its
 * beginning, and nothing else. Pure.
 */
import type { Channel, Got } from './receivers.ts';

/** An incident as it stands, and whether its "down" became due to be told. */
export type ExpectedMessage = {
  readonly id: string;
  readonly place: string;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly isDue: boolean;
};

export type MessagesVerdict = {
  /** Messages that somebody took. */
  readonly taken: number;
  readonly lost: readonly string[];
  readonly wrong: readonly string[];
};

const minute = 60_000;
type Way = 'plain' | 'flapping' | 'silent';

/** Rule 37, by the outages of one place in order of time. */
const waysOf = (incidents: readonly ExpectedMessage[]): ReadonlyMap<string, Way> => {
  const ways = new Map<string, Way>();
  for (const own of Map.groupBy(incidents, ({ place }) => place).values()) {
    let recent: number[] = [];
    let isEpisode = false;
    let rested = Number.NEGATIVE_INFINITY;
    for (const { id, confirmed_at, resolved_at } of own.toSorted((a, b) => (a.confirmed_at ?? 0) - (b.confirmed_at ?? 0))) {
      const at = confirmed_at ?? 0;
      if (isEpisode && at - rested >= 15 * minute) [isEpisode, recent] = [false, []];
      recent = [...recent.filter((one) => one > at - 30 * minute), at];
      ways.set(id, isEpisode ? 'silent' : recent.length > 2 ? 'flapping' : 'plain');
      isEpisode ||= recent.length > 2;
      rested = resolved_at ?? Number.POSITIVE_INFINITY;
      // One that lasts is an outage like any other.
      if (rested - at >= 5 * minute) [isEpisode, recent] = [false, []];
    }
  }
  return ways;
};

const beginnings: readonly string[] = ['down', 'was_down', 'flapping'];
const ends: readonly string[] = ['up', 'closed'];

export const judgeMessages = (input: {
  readonly channels: readonly Channel[];
  readonly got: readonly Got[];
  readonly incidents: readonly ExpectedMessage[];
  /** Messages of which it was never stored that somebody took them: who sent them was killed, and their end was told in another. */
  readonly overtaken: ReadonlySet<string>;
}): MessagesVerdict => {
  const { channels, got, incidents, overtaken } = input;
  const due = incidents.filter(({ isDue }) => isDue);
  const ways = waysOf(due);
  const known = new Map(due.map((incident) => [incident.id, incident]));
  const [lost, wrong]: [string[], string[]] = [[], []];

  const bodies = new Map<string, string>();
  // Its links are signed anew with each attempt; what it tells stays.
  for (const { id, items, channel } of got) {
    const body = JSON.stringify(items);
    if ((bodies.get(id) ?? body) !== body) wrong.push(`${channel}: the message ${id} says another thing with another attempt`);
    bodies.set(id, body);
  }

  for (const { name, covers, delay_s } of channels) {
    const own = got.filter(({ channel, taken }) => channel === name && taken);
    /** What was taken, each message once, by incident, in order of time. */
    const heard = new Map<string, { event: string; id: string; at: number }[]>();
    for (const { id, at, items } of own)
      for (const { incident, event } of items) {
        const before = heard.get(incident) ?? [];
        if (!before.some((one) => one.id === id && one.event === event)) heard.set(incident, [...before, { event, id, at }]);
      }
    for (const [id, events] of heard) {
      const incident = known.get(id);
      const tell = `${name}: ${incident?.place ?? 'somebody'} ${id}: ${events.map(({ event }) => event).join(', ')}`;
      if (!incident) wrong.push(`${tell}, of what was not to be told`);
      else if (covers !== null && !covers.includes(incident.place)) wrong.push(`${tell}, which it does not cover`);
      const sure = events.filter((one) => !overtaken.has(one.id));
      const count = (some: readonly string[]) => sure.filter(({ event }) => some.includes(event)).length;
      if (count(['down', 'was_down']) > 1 || count(['flapping']) > 1) wrong.push(`${tell}: its beginning was told twice`);
      if (count(ends) > 1) wrong.push(`${tell}: its end was told twice`);
      if (ends.includes(events[0]?.event ?? '') && ways.get(id) === 'plain') wrong.push(`${tell}: its end was told first`);
      const [down] = events.filter(({ event }) => event === 'down');
      const at = incident?.confirmed_at ?? 0;
      if (down && down.at < at + 1_000 * delay_s) wrong.push(`${tell}: it was told ${down.at - at} ms after it was confirmed`);
      if (down && incident && ways.get(id) !== 'plain' && down.at < at + 5 * minute) wrong.push(`${tell}, of a monitor that flaps`);
    }
    for (const { id, place, confirmed_at, resolved_at } of due) {
      const way = ways.get(id);
      // A ping that was found late made up for it before it was due: who was told of it by then was, and nobody else is (rules 20 and 25).
      if (resolved_at !== null && resolved_at < (confirmed_at ?? 0)) continue;
      if ((covers !== null && !covers.includes(place)) || way === 'silent') continue;
      const events = heard.get(id) ?? [];
      const tell = `${name}: ${place} ${id}`;
      // Whom a delay keeps from hearing of it, if it was over by then, nobody can tell from outside.
      if (delay_s === 0 && !events.some(({ event }) => (way === 'flapping' ? beginnings : beginnings.slice(0, 2)).includes(event)))
        lost.push(`${tell} was told to nobody`);
      const isDown = events.some((one) => one.event === 'down');
      if (isDown && resolved_at !== null && !events.some(({ event }) => ends.includes(event) || event === 'was_down'))
        lost.push(`${tell}: its end was told to nobody`);
    }
  }
  return { taken: new Set(got.filter(({ taken }) => taken).map(({ id }) => id)).size, lost, wrong };
};
