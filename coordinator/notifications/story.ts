import type { Because, DisabledReason, HeldBy, StepEvent } from './policy.ts';

/**
 * "Why was I notified", and "why was I not" (rule 40): what happened to an incident on its way to
 * one channel, from stored rows.
 */

export type Attempt = {
  readonly at: number;
  readonly status: number | null;
  readonly class: string;
  readonly verdict: 'taken' | 'retry' | 'refused';
  readonly words: string | null;
};

export type StoredStep = {
  readonly event: StepEvent;
  readonly state: 'held' | 'told' | 'dropped' | 'merged';
  readonly due_at: number;
  readonly created_at: number;
  readonly settled_at: number | null;
  readonly holds: readonly (readonly [by: HeldBy, from: number, until: number])[];
  readonly because: Because | null;
  readonly message: {
    readonly state: 'waiting' | 'taken' | 'refused' | 'given_up' | 'overtaken';
    readonly created_at: number;
    readonly next_at: number;
    readonly settled_at: number | null;
    /** How many steps the message covered. */
    readonly together: number;
    readonly attempts: readonly Attempt[];
  } | null;
};

export type OnItsWay = {
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

export type StoryLine = { readonly at: number | null; readonly text: string };

/** In order of time. */
export function storyOf(way: OnItsWay): readonly StoryLine[] {
  const { incident, down, steps } = way;
  const confirmed =
    incident.confirmed_at === null
      ? []
      : [{ at: incident.confirmed_at, text: 'The outage was confirmed.' }];
  if (steps.length === 0) return [...confirmed, untold(way)];
  const first = steps.find(({ event }) => event === 'down' || event === 'flapping');
  const wasCovered = first !== undefined && down.covered && first.created_at - first.due_at > 2_000;
  const covered = wasCovered
    ? [{ at: first.due_at, text: 'It was held back: maintenance covered the monitor.' }]
    : [];
  const whose = {
    at: null,
    text: `This channel is told of ${way.channel.covers === 'all' ? 'all monitors' : 'chosen monitors, and this is one of them'}.`,
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
  unproven: 'nobody has said yet that this mailbox is theirs',
  unsubscribed: 'this address has unsubscribed',
};

/** Why a channel has no step of an incident. */
function untold({ channel, incident, down }: OnItsWay): StoryLine {
  if (incident.confirmed_at === null)
    return { at: null, text: 'Not told: nobody on another continent confirmed the outage.' };
  if (down.state === 'none')
    return { at: null, text: 'Not told: it became known only when it was past.' };
  if (down.state === 'held' && down.covered)
    return { at: down.due_at, text: 'Held back: maintenance covers the monitor.' };
  if (down.state === 'held')
    return { at: down.due_at, text: 'Not told yet: the monitor asks to wait so long.' };
  if (down.state === 'dropped')
    return {
      at: incident.ended_at,
      text: 'Not told: the outage was over before it was time to tell.',
    };
  if (channel.shut !== undefined)
    return { at: null, text: `Not told: ${shutWords[channel.shut]}.` };
  if (!channel.covered)
    return {
      at: null,
      text: 'Not told: the channel is for chosen monitors, and this is none of them.',
    };
  return {
    at: down.due_at,
    text: 'Not told: at that time the channel was not there, or not for this monitor.',
  };
}

/** What the notification says. */
const news: Readonly<Record<StepEvent, string>> = {
  down: 'it is down',
  up: 'it is up again',
  was_down: 'it was down',
  closed: 'the outage was closed',
  reminder: 'it is still down',
  acknowledged: 'somebody is on it',
  flapping: 'it goes down again and again',
};

const heldWords: Readonly<Record<HeldBy, string>> = {
  delay: 'this channel is told only later, if it is then still down and nobody is on it',
  flapping: 'the monitor is flapping, so it is told only if it stays down for 5 min',
  steadiness: 'the monitor is flapping, so its end is told once it was steady for 15 min',
  reminder: 'the time of the reminder had not come',
  maintenance: 'maintenance covered the monitor',
  mute: 'all alerts were muted',
  hours: 'it was outside the hours of this channel',
  bucket: 'this channel had just got several messages, so that more of them leave together',
  down_on_its_way: 'the message that it is down was still on its way',
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
  const name = news[event];
  return [
    {
      at: event === 'reminder' ? created_at : Math.max(due_at, created_at),
      text: event === 'reminder' ? 'A reminder was planned.' : `It was time to say that ${name}.`,
    },
    ...holds.map(([by, from]) => ({ at: from, text: `It waited: ${heldWords[by]}.` })),
    ...(message === null ? [] : messageLines(message)),
    ...(state === 'merged'
      ? [
          {
            at: settled_at,
            text: 'The outage ended before the message was taken, so that one message says that it was down.',
          },
        ]
      : []),
    ...(state === 'dropped'
      ? [{ at: settled_at, text: `That ${name} was not told: ${droppedWords(because)}.` }]
      : []),
  ];
}

function messageLines(message: NonNullable<StoredStep['message']>): StoryLine[] {
  const others = message.together - 1;
  const beside = others === 0 ? '' : `, which tells of ${others} more as well`;
  const lines = [
    { at: message.created_at, text: `A message left${beside}.` },
    ...message.attempts.map(attemptLine),
  ];
  if (message.state === 'waiting' && message.attempts.length > 0)
    return [...lines, { at: message.next_at, text: 'The next attempt.' }];
  if (message.state === 'given_up')
    return [
      ...lines,
      { at: message.settled_at, text: 'It was given up: for a day it had not been taken.' },
    ];
  return lines;
}

function attemptLine(attempt: Attempt, index: number): StoryLine {
  const { at, verdict } = attempt;
  const said = {
    taken: 'it was taken',
    retry: 'it was not taken, and is tried again',
    refused: 'it was refused for good',
  }[verdict];
  return { at, text: `Attempt ${index + 1}: ${said} (${answered(attempt)}).` };
}

function answered({ status, class: kind, words }: Attempt): string {
  return [
    status === null
      ? kind.replaceAll('_', ' ')
      : `${kind === 'mail' ? 'mail code' : 'status'} ${status}`,
    ...(words === null ? [] : [words]),
  ].join(': ');
}

function droppedWords(because: Because | null): string {
  if (because === 'over') return 'the outage was over before';
  if (because === 'acknowledged') return 'somebody was on it already';
  if (because === 'down_again') return 'the monitor went down again before it was steady';
  if (because === 'others_open')
    return 'others of the same incident at the receiver were still down, and it ends with the last of them';
  if (because === 'never_told') return 'this channel never took the message that it is down';
  const shut = (['deleted', 'off', 'unproven', 'unsubscribed'] as const).find(
    (by) => because === `channel_${by}`,
  );
  return shut === undefined ? 'it was no longer needed' : shutWords[shut];
}
