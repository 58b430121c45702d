import { faultsOfNotifications } from './notification-oracle.ts';
import { type Outage, type Span, type Story, tell } from './notification-world.ts';

/** Outages of some monitors, and how a channel wants to be notified of them (rules 30 to 38). */

const second = 1_000;
const hours = 8;

/** A story from a seed: the same one each time. */
export const makeNotificationStory = (seed: number): Story => {
  let state = seed * 2_654_435_761 + 1;
  const random = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const until = hours * 3_600 * second;
  const spans = (many: number, longest: number): Span[] =>
    Array.from({ length: random(many + 1) }, () => {
      const from = random(until / second) * second;
      return { from, to: from + (60 + random(longest)) * second };
    });
  const outages: Outage[] = [];
  for (let monitor = 0; monitor < 6; monitor += 1) {
    const flaps = random(3) === 0;
    for (
      let at = 60 + random(flaps ? 600 : 5_000);
      at < until / second;
      at += flaps ? 120 + random(900) : 600 + random(9_000)
    ) {
      const down = at * second;
      at += 5 + random(flaps ? 240 : 3_000);
      const acknowledged = random(3) === 0 ? down + random(600) * second : null;
      outages.push({
        incident: `${monitor}-${down}`,
        monitor: `m${monitor}`,
        down,
        up: at * second,
        acknowledged,
      });
    }
  }
  // Everything within a minute or less, as when a line is cut: each is noticed in its turn.
  const burst = (3_600 + random(3_600)) * second;
  const [many, within] = [30 + random(40), 1 + random(60)];
  for (let index = 0; index < many; index += 1) {
    const down = burst + random(within) * second;
    const long = 60 + random(300);
    // Some are over before the bucket lets them go.
    const up = down + (index % 5 === 4 ? 2 : long) * second;
    outages.push({
      incident: `b${index}`,
      monitor: `b${index}`,
      down,
      up,
      acknowledged: null,
      isOfBurst: true,
    });
  }
  return {
    outages: outages.toSorted((a, b) => a.down - b.down),
    chosen: random(3) === 0 ? ['m0', 'm1', 'b0', 'b1'] : null,
    delay_s: random(3) === 0 ? 60 + random(300) : 0,
    reminder_s: random(2) === 0 ? 120 + random(300) : null,
    hours: random(4) === 0 ? { from: '02:00', to: '05:00' } : null,
    mutes: random(2) === 0 ? spans(2, 1_800) : [],
    away: spans(4, 2_400),
    idle: random(3) === 0 ? spans(3, 400) : [],
    until,
  };
};

/** What is wrong in this story, if anything. */
export const notificationFault = (story: Story): string | undefined =>
  faultsOfNotifications(story, tell(story))[0];
