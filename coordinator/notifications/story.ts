import type { Because, DisabledReason, HeldBy, StepEvent } from './policy.ts';

/**
 * "Why was I notified", and "why was I not" (rule 40): what happened to an incident on its way to
 * one channel, from stored rows.
 */

export type Attempt = {
  readonly at: number;
  readonly status: number | null;
  readonly class: string;
  readonly verdict: 'delivered' | 'retry' | 'refused';
  readonly words: string | null;
};

/** `parent`: what was down, where it was held for that. */
export type StoredHold = readonly [by: HeldBy, from: number, until: number, parent?: string];

export type StoredStep = {
  readonly event: StepEvent;
  readonly state: 'held' | 'told' | 'dropped' | 'merged';
  readonly due_at: number;
  readonly created_at: number;
  readonly settled_at: number | null;
  readonly holds: readonly StoredHold[];
  readonly because: Because | null;
  readonly message: {
    readonly state: 'waiting' | 'delivered' | 'refused' | 'failed' | 'superseded';
    readonly created_at: number;
    readonly next_at: number;
    readonly settled_at: number | null;
    /** Why it was given up, where that was not for the time. */
    readonly words: string | null;
    /** How many steps the message covered. */
    readonly together: number;
    readonly attempts: readonly Attempt[];
  } | null;
};

export type NotificationProgress = {
  readonly channel: {
    readonly name: string;
    readonly shut: DisabledReason | undefined;
    readonly covers: 'all' | 'chosen';
    readonly covered: boolean;
  };
  readonly incident: { readonly confirmed_at: number | null; readonly ended_at: number | null };
  /** What happened to the "down" before any channel: not due yet, or over before it was. */
  readonly down: {
    readonly state: 'none' | 'held' | 'due' | 'dropped';
    readonly due_at: number | null;
    readonly covered: boolean;
  };
  readonly steps: readonly StoredStep[];
};

type StoryLine = { readonly at: number | null; readonly text: string };

/** In order of time. */
export function storyOf(way: NotificationProgress): readonly StoryLine[] {
  const { incident, down, steps } = way;
  const confirmed =
    incident.confirmed_at === null
      ? []
      : [{ at: incident.confirmed_at, text: 'Outage confirmed.' }];
  if (steps.length === 0) return [...confirmed, untold(way)];
  const first = steps.find(({ event }) => event === 'down' || event === 'flapping');
  const wasCovered = first !== undefined && down.covered && first.created_at - first.due_at > 2_000;
  const covered = wasCovered
    ? [{ at: first.due_at, text: 'On hold: the monitor was in maintenance.' }]
    : [];
  const whose = {
    at: null,
    text: `This channel receives alerts for ${way.channel.covers === 'all' ? 'all monitors' : 'selected monitors, including this one'}.`,
  };
  return [
    ...confirmed,
    ...(way.channel.covered ? [whose] : []),
    ...covered,
    ...steps.flatMap(stepLines),
  ];
}

const shutWords: Readonly<Record<DisabledReason, string>> = {
  deleted: 'the channel was deleted',
  off: 'the channel is turned off',
  unproven: 'the address is not confirmed yet',
  unsubscribed: 'this address has unsubscribed',
};

/** Why a channel has no step of an incident. */
function untold({ channel, incident, down }: NotificationProgress): StoryLine {
  if (incident.confirmed_at === null)
    return { at: null, text: 'Not notified: no other continent confirmed the outage.' };
  if (down.state === 'none')
    return { at: null, text: 'Not notified: the outage became known only after it had ended.' };
  if (down.state === 'held' && down.covered)
    return { at: down.due_at, text: 'On hold: the monitor is in maintenance.' };
  if (down.state === 'held')
    return { at: down.due_at, text: 'Not notified yet: the monitor’s delay is not over.' };
  if (down.state === 'dropped')
    return {
      at: incident.ended_at,
      text: 'Not notified: the outage ended before the delay was over.',
    };
  if (!channel.covered)
    return { at: null, text: 'Not notified: its selected monitors do not include this one.' };
  if (channel.shut !== undefined)
    return { at: null, text: `Not notified: ${shutWords[channel.shut]}.` };
  return {
    at: down.due_at,
    text: 'Not notified: at that time it did not exist, or did not cover this monitor.',
  };
}

/** What is down, while that holds the alert of an incident (rule 47). */
export function parentHolding(
  steps: readonly Pick<StoredStep, 'state' | 'holds'>[],
): string | null {
  const held = steps.filter(({ state }) => state === 'held').map(({ holds }) => holds.at(-1));
  return held.find((hold) => hold?.[0] === 'dependency')?.[3] ?? null;
}

const alertNames: Readonly<Record<StepEvent, string>> = {
  down: 'Alert',
  up: 'Recovery alert',
  was_down: 'Alert of a past outage',
  closed: 'Closing alert',
  reminder: 'Reminder',
  acknowledged: 'Acknowledgement',
  flapping: 'Flapping alert',
};

const heldWords: Readonly<Record<HeldBy, string>> = {
  delay: 'this channel has a delay, and is notified if it is then still down and not acknowledged',
  flapping: 'the monitor is flapping, so the alert is sent only if it stays down for 5 min',
  steadiness: 'the monitor is flapping, so the recovery is sent once it was stable for 15 min',
  reminder: 'the reminder was not due yet',
  maintenance: 'the monitor was in maintenance',
  mute: 'alerts were muted',
  hours: 'it was outside the active hours of this channel',
  dependency: 'what this monitor depends on was down',
  parent_check: 'what this monitor depends on was checked first',
  cause_check: 'others failed at the same time, so a common cause was looked for',
  cause: 'it has a cause in common with others, which are reported together',
  bucket: 'this channel had just got several messages, so further ones are sent together',
  down_on_its_way: 'the alert that it is down was not delivered yet',
};

function stepLines({
  event,
  state,
  created_at,
  due_at,
  settled_at,
  holds,
  because,
  message,
}: StoredStep): StoryLine[] {
  const name = alertNames[event];
  return [
    {
      at: event === 'reminder' ? created_at : Math.max(due_at, created_at),
      text: event === 'reminder' ? 'Reminder scheduled.' : `${name} queued.`,
    },
    ...holds.map(([by, from, , parent]) => ({
      at: from,
      text: `On hold: ${parent === undefined ? heldWords[by] : `${parent} was down, which this monitor depends on`}.`,
    })),
    ...(message === null ? [] : messageLines(message)),
    ...(state === 'merged'
      ? [
          {
            at: settled_at,
            text: 'The outage ended before the alert was delivered, so one message says that it was down.',
          },
        ]
      : []),
    ...(state === 'dropped'
      ? [{ at: settled_at, text: `${name} not sent: ${droppedWords(because)}.` }]
      : []),
  ];
}

function messageLines(message: NonNullable<StoredStep['message']>): StoryLine[] {
  const others = message.together - 1;
  const beside = others === 0 ? '' : `, together with ${others} more`;
  const lines = [
    { at: message.created_at, text: `Sending${beside}.` },
    ...message.attempts.map(attemptLine),
  ];
  if (message.state === 'waiting' && message.attempts.length > 0)
    return [...lines, { at: message.next_at, text: 'Next attempt.' }];
  if (message.state === 'failed')
    return [
      ...lines,
      {
        at: message.settled_at,
        text: `Failed: ${message.words ?? 'not delivered within a day.'}`,
      },
    ];
  return lines;
}

function attemptLine(attempt: Attempt, index: number): StoryLine {
  const { at, verdict } = attempt;
  const said = {
    delivered: 'delivered',
    retry: 'failed, retrying',
    refused: 'failed permanently',
  }[verdict];
  return { at, text: `Attempt ${index + 1}: ${said} (${answered(attempt)}).` };
}

function answered({ status, class: kind, words }: Attempt): string {
  return [
    status === null ? kind.replaceAll('_', ' ') : `${kind === 'mail' ? 'SMTP' : 'HTTP'} ${status}`,
    ...(words === null ? [] : [words]),
  ].join(': ');
}

function droppedWords(because: Because | null): string {
  if (because === 'over') return 'the outage had ended';
  if (because === 'acknowledged') return 'it was already acknowledged';
  if (because === 'handed_back') return 'the incident was handed back before';
  if (because === 'down_again') return 'the monitor went down again before it was stable';
  if (because === 'never_told')
    return 'the alert that it is down was never delivered to this channel';
  const shut = (['deleted', 'off', 'unproven', 'unsubscribed'] as const).find(
    (by) => because === `channel_${by}`,
  );
  return shut === undefined ? 'it was no longer needed' : shutWords[shut];
}
