import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { type Group, type Rig, startRig } from './alerts/rig.ts';
import type { Bench, Figure } from './figure.ts';

/**
 * Delivery as a whole, from a row that is due to the receiver's answer, through a coordinator that
 * is a process of its own: programs get each outage at once, and people many in few messages
 * (rule 32).
 */

const most = { ms: 1_000, messages: 4 } as const;
const minuteMs = 60_000;
const incidents = 1_000;
const inOneMinute = 100;

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[
    Math.min(values.length - 1, Math.floor(values.length * share))
  ] ?? Number.NaN;

type Step = {
  readonly channel_id: string;
  readonly message_id: string | null;
  readonly due_at: number;
};

/** What was planned for these channels. */
const stepsOf = (sql: Rig['sql'], channels: readonly string[]): Promise<Step[]> =>
  sql<Step[]>`
    select channel_id, message_id, due_at from alert_steps where channel_id = any(${channels}::uuid[])`;

/** How many messages each of these channels got, at most, and of how many incidents they told. */
const toldOf = async (
  sql: Rig['sql'],
  channels: readonly string[],
): Promise<{ messages: number; incidents: number }> => {
  const [row] = await sql<{ messages: number; incidents: number }[]>`
    select coalesce(max(messages), 0)::int as messages, coalesce(min(incidents), 0)::int as incidents from (
      select count(distinct message_id) as messages, count(*) as incidents from alert_steps s join deliveries m on m.id = s.message_id
      where m.state = 'delivered' and s.channel_id = any(${channels}::uuid[]) group by s.channel_id) told`;
  return row ?? { messages: 0, incidents: 0 };
};

/** Monitors go down one after the other, evenly over so long. */
const breakOneByOne = async (
  rig: Rig,
  monitors: readonly string[],
  forMs: number,
): Promise<void> => {
  const began = performance.now();
  for (const [index, monitor] of monitors.entries()) {
    await pause(Math.max(0, began + (index * forMs) / monitors.length - performance.now()));
    await rig.down([monitor]);
  }
};

const messagesFigure = async (
  rig: Rig,
  what: string,
  { channels, monitors }: Group,
): Promise<Figure> => {
  const told = await eventually(
    async () => {
      const so = await toldOf(rig.sql, channels);
      return so.incidents === monitors.length ? so : undefined;
    },
    180_000,
    500,
  );
  return {
    what,
    ours: `${told.messages} messages a channel`,
    against: `${most.messages}`,
    ratio: told.messages / most.messages,
    goal: '≤ 1.00 ×',
    holds: told.messages <= most.messages,
  };
};

export const alerts: Bench = {
  name: 'alerts',
  about:
    '1,000 incidents in a minute over 50 channels, one of which hangs: due to accepted; many at once in few messages (4 min)',
  run: async (say, { windowMs = minuteMs } = {}) => {
    const rig = await startRig(say);
    try {
      const warm = await rig.addGroup({ channels: 10, monitors: 10, each: 1 });
      say('warm-up');
      await rig.down(warm.monitors.map(({ id }) => id));
      await eventually(async () => (await toldOf(rig.sql, warm.channels)).incidents === 1, 60_000);

      // Five organisations with ten channels each; one channel of the first hangs, on a host that
      // others are on.
      const groups: Group[] = [];
      for (let nth = 0; nth < 5; nth += 1)
        groups.push(
          await rig.addGroup({ channels: 10, monitors: incidents / 5, each: 1, slow: nth === 0 }),
        );
      // Beside them an organisation that loses a hundred within the same minute, as monitors of one
      // line do.
      const losing = await rig.addGroup({
        channels: 3,
        monitors: inOneMinute,
        each: 3,
        people: true,
      });
      say(`${incidents} incidents in ${windowMs / 1_000} s`);
      const inTurn = groups
        .flatMap(({ monitors }) => monitors.map(({ id }, index) => ({ id, index })))
        .toSorted((a, b) => a.index - b.index);
      await Promise.all([
        breakOneByOne(
          rig,
          inTurn.map(({ id }) => id),
          windowMs,
        ),
        breakOneByOne(
          rig,
          losing.monitors.map(({ id }) => id),
          windowMs,
        ),
      ]);
      const slow = groups[0]?.channels[0] ?? '';
      const quick = groups
        .flatMap(({ channels }) => channels)
        .filter((channel) => channel !== slow);
      say('until all is told');
      const expected = groups
        .flatMap(({ monitors }) => monitors)
        .filter(({ channels: [channel] }) => channel !== slow).length;
      const isTold = async () => {
        const steps = await stepsOf(rig.sql, quick);
        return steps.length === expected &&
          steps.every(({ message_id }) => message_id !== null && rig.accepted.has(message_id))
          ? steps
          : undefined;
      };
      const steps = await eventually(isTold, 180_000, 500);
      const took = steps.map(
        ({ message_id, due_at }) => (rig.accepted.get(message_id ?? '') ?? Number.NaN) - due_at,
      );
      const p99 = quantile(took, 0.99);
      const hanging = await rig.sql<
        { attempts: number }[]
      >`select sum(attempts)::int as attempts from deliveries where channel_id = ${slow}`;
      const figures: Figure[] = [
        {
          what: `due → accepted, p99 of ${steps.length} over ${quick.length} channels (median ${quantile(took, 0.5).toFixed(0)} ms), one more hanging ${hanging[0]?.attempts ?? 0} times`,
          ours: `${p99.toFixed(0)} ms`,
          against: `${most.ms} ms`,
          ratio: p99 / most.ms,
          goal: '≤ 1.00 ×',
          holds: p99 <= most.ms,
        },
        await messagesFigure(
          rig,
          `${inOneMinute} monitors of an organisation down within ${windowMs / 1_000} s`,
          losing,
        ),
      ];
      const many = await rig.addGroup({
        channels: 10,
        monitors: 1_000,
        each: 10,
        people: true,
      });
      say('1,000 at once in one organisation, told to 10 channels');
      const began = Date.now();
      await rig.down(many.monitors.map(({ id }) => id));
      figures.push(
        await messagesFigure(rig, '1,000 monitors of an organisation down at once', many),
      );
      const first = await rig.sql<{ at: number }[]>`
        select distinct on (channel_id) settled_at as at from deliveries
        where channel_id = any(${many.channels}::uuid[]) order by channel_id, key`;
      const firstMs = Math.max(...first.map(({ at }) => at - began));
      figures.push({
        what: 'the first message of each, from the outage on, the slowest of 10',
        ours: `${firstMs.toFixed(0)} ms`,
        against: `${most.ms} ms`,
        ratio: firstMs / most.ms,
        goal: '≤ 1.00 ×',
        holds: firstMs <= most.ms,
      });
      return figures;
    } finally {
      await rig.close();
    }
  },
};
