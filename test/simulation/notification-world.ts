/**
 * The pure rules of notifications in a small world: one channel, some monitors that go down and up, and a
 * receiver that is away at times.
 */

import { nextAttempt, usualPauses } from '../../coordinator/deliveries/model.ts';
import {
  decideStep,
  flappingOf,
  fullBucket,
  gather,
  isCovered,
  isLastResort,
  reminderAfter,
  type StepEvent,
} from '../../coordinator/notifications/policy.ts';

export type Span = { readonly from: number; readonly to: number };
export type Outage = {
  readonly incident: string;
  readonly monitor: string;
  readonly down: number;
  readonly up: number;
  readonly acknowledged: number | null;
  /** One of many within a minute, as when a line is cut. */
  readonly isOfBurst?: boolean;
};
export type Story = {
  readonly outages: readonly Outage[];
  readonly chosen: readonly string[] | null;
  readonly delay_s: number;
  readonly reminder_s: number | null;
  /** By the clock of UTC, every day; null: at any hour. */
  readonly hours: { readonly from: string; readonly to: string } | null;
  readonly mutes: readonly Span[];
  /** When the receiver takes nothing. */
  readonly away: readonly Span[];
  /** When nobody comes to what is due. */
  readonly idle: readonly Span[];
  readonly until: number;
};
type Sent = {
  readonly left: number;
  readonly items: { readonly incident: string; readonly event: StepEvent; isWithdrawn: boolean }[];
  readonly attempts: number[];
  taken: number | null;
  over: boolean;
};
export type Heard = {
  readonly messages: readonly Sent[];
  readonly resorts: readonly { readonly incident: string; readonly at: number }[];
};

type Step = {
  readonly outage: Outage;
  event: StepEvent;
  seq: number;
  due: number;
  look: number;
  /** It waits for others to leave with. */
  isGathered: boolean;
  state: 'held' | 'told' | 'gone';
  message: Sent | null;
  flaps: boolean;
};

const isIn = (spans: readonly Span[], at: number): Span | undefined =>
  spans.find(({ from, to }) => from <= at && at < to);

/** Every second is looked at; what happens within one happens at its beginning. */
export const tell = (story: Story): Heard => {
  const steps: Step[] = [];
  const messages: (Sent & { next: number })[] = [];
  const resorts: { incident: string; at: number }[] = [];
  let bucket = fullBucket;
  const coverage = {
    covers: story.chosen === null ? 'all' : 'chosen',
    monitors: new Set(story.chosen ?? []),
    groups: new Set<string>(),
  } as const;
  const step = (outage: Outage, event: StepEvent, due: number, more: Partial<Step> = {}): void => {
    steps.push({
      outage,
      event,
      due,
      look: due,
      seq: 0,
      isGathered: false,
      state: 'held',
      message: null,
      flaps: false,
      ...more,
    });
  };
  const told = (outage: Outage, event: StepEvent): Step | undefined =>
    steps.find((each) => each.outage === outage && each.event === event && each.state === 'told');
  const verdicts = new Map<Outage, ReturnType<typeof flappingOf>>();

  for (let now = 0; now <= story.until; now += 1_000) {
    for (const outage of story.outages) {
      if (outage.down === now && isCovered(coverage, { id: outage.monitor, group: null })) {
        const before = story.outages.filter(
          ({ monitor, down }) => monitor === outage.monitor && down <= now,
        );
        const verdict = flappingOf(
          before.map(({ incident, down, up }) => ({
            incident,
            confirmed_at: down,
            resolved_at: up <= now ? up : null,
          })),
        );
        verdicts.set(outage, verdict);
        if (verdict === 'flapping') step(outage, 'flapping', now);
        step(outage, 'down', now);
      }
      if (outage.up === now) {
        for (const held of steps) {
          if (held.outage !== outage || held.state !== 'held' || held.event === 'up') continue;
          // Whether its beginning was due by now is asked at once; the rest is over.
          if (held.event === 'reminder') held.state = 'gone';
          else if (!held.isGathered) held.look = Math.min(held.look, now);
        }
        if (told(outage, 'down')) step(outage, 'up', now);
        else if (
          steps.some(
            (each) => each.outage === outage && each.event === 'flapping' && each.state !== 'gone',
          )
        )
          step(outage, 'up', now, { flaps: true });
      }
    }
    if (isIn(story.idle, now)) continue;
    const due = steps.filter((each) => {
      if (each.state !== 'held' || each.look > now) return false;
      const { outage } = each;
      const disposition = decideStep(
        { event: each.event, due_at: each.due, not_before: each.look },
        {
          incident: {
            started_at: outage.down,
            confirmed_at: outage.down,
            ended_at: outage.up <= now ? outage.up : null,
            acknowledged_at:
              outage.acknowledged !== null && outage.acknowledged <= now
                ? outage.acknowledged
                : null,
          },
          channel: {
            shut: undefined,
            delay_s: story.delay_s,
            hours: story.hours && {
              zone: 'UTC',
              spans: [{ days: [1, 2, 3, 4, 5, 6, 7], ...story.hours }],
            },
          },
          cover: [],
          muted_until: isIn(story.mutes, Math.min(now, outage.up))?.to ?? null,
          parents: [],
          parents_awaited: null,
          cause: null,
          waits_for_steadiness: each.flaps,
          flapping: each.event === 'up' ? 'plain' : (verdicts.get(outage) ?? 'plain'),
          down_again: story.outages.some(
            ({ monitor, down }) => monitor === outage.monitor && down > outage.up && down <= now,
          ),
          gathered: each.event === 'down' && each.isGathered && verdicts.get(outage) === 'plain',
        },
        now,
      );
      if (disposition.is === 'dropped') each.state = 'gone';
      if (disposition.is === 'held') each.look = disposition.until;
      if (disposition.is === 'due' && disposition.as !== undefined) each.event = disposition.as;
      return disposition.is === 'due';
    });
    const gathered =
      due.length === 0
        ? undefined
        : gather(bucket, { now, more: due.some(({ isGathered }) => !isGathered) });
    bucket = gathered?.bucket ?? bucket;
    if (gathered?.is === 'waits')
      for (const each of due) Object.assign(each, { look: gathered.until, isGathered: true });
    if (gathered?.is === 'leaves') {
      const message: Sent & { next: number } = {
        left: now,
        items: [],
        attempts: [],
        taken: null,
        over: false,
        next: now,
      };
      for (const each of due) {
        const begun = told(each.outage, 'down');
        if (each.event === 'up' && begun?.message && begun.message.taken === null) {
          each.event = 'was_down';
          begun.state = 'gone';
          // What else it says is said on.
          for (const item of begun.message.items)
            if (item.incident === each.outage.incident) item.isWithdrawn = true;
          if (begun.message.items.every(({ isWithdrawn }) => isWithdrawn))
            begun.message.over = true;
        }
        message.items.push({
          incident: each.outage.incident,
          event: each.event,
          isWithdrawn: false,
        });
        each.state = 'told';
        each.message = message;
        if (story.reminder_s !== null && (each.event === 'down' || each.event === 'reminder')) {
          const seq = each.seq + 1;
          step(each.outage, 'reminder', now, {
            seq,
            look: now + reminderAfter(story.reminder_s, seq),
          });
        }
      }
      messages.push(message);
    }
    for (const message of messages) {
      if (message.taken !== null || message.over || message.next > now) continue;
      message.attempts.push(now);
      if (!isIn(story.away, now)) message.taken = now;
      else {
        const tried = { attempts: message.attempts.length, after_s: undefined };
        const again = nextAttempt(usualPauses, tried, now, 0);
        if (again === null) message.over = true;
        else message.next = Math.ceil(again / 1_000) * 1_000;
      }
    }
    for (const { outage, event, message, state } of steps)
      if (
        event === 'down' &&
        state === 'told' &&
        message &&
        outage.up > now &&
        !resorts.some(({ incident }) => incident === outage.incident)
      )
        if (isLastResort({ first_told_at: message.left, delivered: message.taken !== null }, now))
          resorts.push({ incident: outage.incident, at: now });
  }
  return { messages, resorts };
};
