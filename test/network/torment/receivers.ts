import { createServer, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { insertChannel } from '../../../coordinator/notifications/queries.ts';
import { channelSecretsOf, createSecretsAtRest } from '../../../coordinator/secrets/at-rest.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Chance } from '../../simulation/story.ts';
import { portOf } from '../../support/connections.ts';
import type { Network } from '../../support/network.ts';
import { testSecretKey } from '../../support/people.ts';

/**
 * Where alerts arrive: webhooks of an organisation, one that is well and one that is not, and all
 * that each of them ever got.
 */

/** `covers`: the places that it is told of; null: all. */
export type Channel = {
  readonly name: string;
  readonly covers: readonly string[] | null;
  readonly delay_s: number;
};

/** One request; `taken`: it was answered 204, to the end. */
export type Got = {
  readonly channel: string;
  /** The same with each attempt. */
  readonly id: string;
  readonly at: number;
  readonly body: string;
  readonly items: readonly { readonly incident: string; readonly event: string }[];
  taken: boolean;
};

export type Receivers = {
  readonly channels: readonly Channel[];
  readonly got: readonly Got[];
  /** From now on each takes what it gets. */
  readonly heal: () => void;
  readonly close: () => Promise<void>;
};

const bodyShape = z.object({
  data: z.object({ incidents: z.array(z.object({ id: z.string(), event: z.string() })) }),
});

/** What a receiver that is not well does with a request. */
const troubles = ['refuse', 'hang up', 'hang up late'] as const;

export const startReceivers = async (
  chance: Chance,
  network: Network,
  monitors: ReadonlyMap<string, string>,
): Promise<Receivers> => {
  const got: Got[] = [];
  let isHealed = false;
  let changesAt = Date.now() + 20_000;
  let trouble: (typeof troubles)[number] | undefined;
  /**
   * Well for a minute or more, and then not for some seconds: so few attempts fail that none has to
   * wait for minutes.
   */
  const troubleNow = (): typeof trouble => {
    if (isHealed) return undefined;
    if (Date.now() >= changesAt) {
      trouble = trouble === undefined ? chance.pick(troubles) : undefined;
      changesAt =
        Date.now() +
        1_000 * (trouble === undefined ? chance.between(60, 90) : chance.between(2, 5));
    }
    return trouble;
  };

  const answer = (one: Got, response: ServerResponse): void => {
    const now = one.channel === 'troubled' ? troubleNow() : undefined;
    if (now === 'refuse') return void response.writeHead(503).end();
    if (now === 'hang up') return void response.destroy();
    // Half of an answer is none.
    if (now === 'hang up late')
      return void response
        .writeHead(204, { 'content-length': '7' })
        .write('', () => response.destroy());
    response.writeHead(204).end(() => {
      one.taken = true;
    });
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const { data } = bodyShape.parse(JSON.parse(body));
      const one: Got = {
        channel: (request.url ?? '').slice(1),
        id: String(request.headers['webhook-id']),
        at: Date.now(),
        body,
        taken: false,
        items: data.incidents.map(({ id, event }) => ({
          incident: id,
          event: event.split('.')[1] ?? '',
        })),
      };
      got.push(one);
      answer(one, response);
    });
    request.on('error', () => undefined);
  });
  const port = await portOf(server);
  // Listening on a port, it has an address that is no pipe.

  const places = [...monitors.keys()];
  const chosen = [
    ...places.filter((place) => place.startsWith('/seldom/')).slice(0, 2),
    ...places.slice(0, 8),
  ];
  const channels: readonly Channel[] = [
    { name: 'well', covers: null, delay_s: 0 },
    { name: 'troubled', covers: null, delay_s: 0 },
    { name: 'chosen', covers: chosen, delay_s: 0 },
    { name: 'later', covers: null, delay_s: 10 },
  ];
  const atRest = createSecretsAtRest(testSecretKey);
  for (const { name, covers, delay_s } of channels) {
    const id = newId();
    const secret = JSON.stringify({ secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` });
    const own = (covers ?? []).flatMap((place) => monitors.get(place) ?? []);
    await network.sql.begin(async (transaction) => {
      await insertChannel(transaction, {
        id,
        organisation: network.organisation,
        user: null,
        host: null,
        kind: 'webhook',
        name,
        config: { url: `http://127.0.0.1:${port}/${name}` },
        secrets: await atRest.seal(transaction, secret, channelSecretsOf(id)),
        enabled: true,
        covers: covers === null ? 'all' : 'chosen',
        monitors: own,
        groups: [],
        delay_s,
        reminder_s: null,
        hours: null,
        warnings: true,
        verified_at: Date.now(),
      });
    });
  }
  return {
    channels,
    got,
    heal: () => {
      isHealed = true;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};

/**
 * Whether everybody was told what the rules say (25, 28, 30 to 33, 37), counted at those who were
 * told: each outage once, its end once and after its beginning, and nothing else. Pure.
 */

/** An incident as it stands, and whether its "down" became due to be told. */
export type ExpectedMessage = {
  readonly id: string;
  readonly place: string;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly isDue: boolean;
  /** It became known when it was over (rule 4). */
  readonly isLate?: boolean;
  /**
   * A ping that came late moved its deadline behind what probes had confirmed (rule 20): it may have
   * been told before.
   */
  readonly isRedated?: boolean;
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
    for (const { id, confirmed_at, resolved_at } of own.toSorted(
      (a, b) => (a.confirmed_at ?? 0) - (b.confirmed_at ?? 0),
    )) {
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
  /**
   * Messages of which it was never stored that somebody took them: who sent them was killed, and
   * their end was told in another.
   */
  readonly overtaken: ReadonlySet<string>;
}): MessagesVerdict => {
  const { channels, got, incidents, overtaken } = input;
  const due = incidents.filter(({ isDue, isLate }) => isDue || isLate);
  const ways = waysOf(incidents.filter(({ isDue }) => isDue));
  const existing = new Map(due.map((incident) => [incident.id, incident]));
  const [lost, wrong]: [string[], string[]] = [[], []];

  const bodies = new Map<string, string>();
  // Its links are signed anew with each attempt; what it tells stays.
  for (const { id, items, channel } of got) {
    const body = JSON.stringify(items);
    if ((bodies.get(id) ?? body) !== body)
      wrong.push(`${channel}: the message ${id} says another thing with another attempt`);
    bodies.set(id, body);
  }

  for (const { name, covers, delay_s } of channels) {
    const own = got.filter(({ channel, taken }) => channel === name && taken);
    /** What was taken, each message once, by incident, in order of time. */
    const heard = new Map<string, { event: string; id: string; at: number }[]>();
    for (const { id, at, items } of own)
      for (const { incident, event } of items) {
        const before = heard.get(incident) ?? [];
        if (!before.some((one) => one.id === id && one.event === event))
          heard.set(incident, [...before, { event, id, at }]);
      }
    for (const [id, events] of heard) {
      const incident = existing.get(id);
      const tell = `${name}: ${incident?.place ?? 'somebody'} ${id}: ${events.map(({ event }) => event).join(', ')}`;
      if (!incident) wrong.push(`${tell}, of what was not to be told`);
      else if (covers !== null && !covers.includes(incident.place))
        wrong.push(`${tell}, which it does not cover`);
      const sure = events.filter((one) => !overtaken.has(one.id));
      const count = (some: readonly string[]) =>
        sure.filter(({ event }) => some.includes(event)).length;
      if (count(['down', 'was_down']) > 1 || count(['flapping']) > 1)
        wrong.push(`${tell}: its beginning was told twice`);
      if (count(ends) > 1) wrong.push(`${tell}: its end was told twice`);
      if (ends.includes(events[0]?.event ?? '') && ways.get(id) === 'plain')
        wrong.push(`${tell}: its end was told first`);
      if (incident?.isLate && events.some(({ event }) => event !== 'was_down'))
        wrong.push(`${tell}, of what became known when it was over`);
      const [down] = events.filter(({ event }) => event === 'down');
      const at = incident?.confirmed_at ?? 0;
      if (down && !incident?.isRedated && down.at < at + 1_000 * delay_s)
        wrong.push(`${tell}: it was told ${down.at - at} ms after it was confirmed`);
      if (down && incident && (ways.get(id) ?? 'plain') !== 'plain' && down.at < at + 5 * minute)
        wrong.push(`${tell}, of a monitor that flaps`);
    }
    for (const { id, place, confirmed_at, resolved_at, isLate } of due) {
      const way = ways.get(id);
      // A ping that was found late made up for it before it was due: who was told of it by then
      // was, and nobody else is (rules 20 and 25). One that became known late had to last, too.
      const lasted = (resolved_at ?? Infinity) - (confirmed_at ?? 0);
      if (lasted < 0 || (isLate && lasted === 0)) continue;
      if ((covers !== null && !covers.includes(place)) || way === 'silent') continue;
      const events = heard.get(id) ?? [];
      const tell = `${name}: ${place} ${id}`;
      // Whom a delay keeps from hearing of it, if it was over by then, nobody can tell from
      // outside.
      if (
        delay_s === 0 &&
        !events.some(({ event }) =>
          (way === 'flapping' ? beginnings : beginnings.slice(0, 2)).includes(event),
        )
      )
        lost.push(`${tell} was told to nobody`);
      const isDown = events.some((one) => one.event === 'down');
      if (
        isDown &&
        resolved_at !== null &&
        !events.some(({ event }) => ends.includes(event) || event === 'was_down')
      )
        lost.push(`${tell}: its end was told to nobody`);
    }
  }
  return { taken: new Set(got.filter(({ taken }) => taken).map(({ id }) => id)).size, lost, wrong };
};
