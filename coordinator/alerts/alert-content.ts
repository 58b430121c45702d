import { z } from 'zod';
import { causeSentence } from '../../shared/checks/causes.ts';
import type { Item, Said } from '../domain/telling/telling-message.ts';
import { sentenceOf } from '../domain/telling/telling-message.ts';
import type { StepEvent } from '../domain/telling/telling-step.ts';
import type { WaitingStep } from '../store/store-telling-steps.ts';
import { type Told, type ToldMonitor, toldEvents } from './alert-told.ts';

/** What a message says, as it is stored: the same with every attempt. Its links are signed when it is sent. */
export type Content = Omit<Told, 'links' | 'thread' | 'key' | 'earlier'> & { readonly thread: { readonly over: boolean } };

const monitorShape = z.object({
  id: z.string(),
  incident: z.string(),
  event: z.enum(toldEvents),
  name: z.string(),
  group: z.string().nullable(),
  target: z.string().nullable(),
  cause: z.string(),
  started_at: z.number(),
  confirmed_at: z.number().nullable(),
  resolved_at: z.number().nullable(),
  seen_from: z.string().nullable(),
  confirmed_from: z.string().nullable(),
  matrix: z.string().nullable(),
}) satisfies z.ZodType<ToldMonitor>;

const contentShape = z.object({
  event: z.enum(toldEvents),
  sentence: z.string(),
  monitors: z.array(monitorShape),
  others_down: z.object({ count: z.number(), names: z.array(z.string()) }),
  organisation: z.string(),
  // What the version before stored names none.
  time_zone: z.string().default('UTC'),
  at: z.number(),
  thread: z.object({ over: z.boolean() }),
}) satisfies z.ZodType<Content, unknown>;

/** @throws when it is not what was stored. */
export const contentFrom = (stored: unknown): Content => contentShape.parse(stored);

const from = (probe: string | null, continent: string | null): string | null =>
  probe === null ? null : continent === null ? probe : `${probe}, ${continent}`;

/** Causes are sentences of their own; within another they begin small and have no full stop. */
const causeWords = (step: WaitingStep): string =>
  step.cause === null
    ? 'it failed'
    : causeSentence(step.cause)
        .replace(/\.$/, '')
        // A word, and no name in capitals as TLS is.
        .replace(/^[A-Z](?=[a-z]|\s)/, (letter) => letter.toLowerCase());

/** A step that leaves, with what there is to say of it. */
export type Leaving = Item & { readonly step: WaitingStep; readonly said: Said; readonly monitor: ToldMonitor };

/**
 * `before`: what was said of this incident when it began; all there is, once the monitor was deleted. `matrix`: what the continents saw.
 */
export const leavingOf = (
  step: WaitingStep,
  as: {
    readonly event: StepEvent;
    readonly thread: string;
    readonly steady: boolean;
    readonly matrix: string | null;
    readonly before: ToldMonitor | undefined;
  },
): Leaving => {
  const { event, thread, before } = as;
  const isGone = step.started_at === null;
  const cause = isGone ? (before?.cause ?? 'it failed') : causeWords(step);
  const name = step.monitor_name ?? before?.name ?? 'A monitor that was deleted';
  const group = step.monitor_name === null ? (before?.group ?? null) : step.group_name;
  const started_at = step.started_at?.getTime() ?? before?.started_at ?? step.due_at.getTime();
  const resolved_at = isGone ? step.due_at.getTime() : (step.resolved_at?.getTime() ?? null);
  const item = { event, thread, group, cause, name, monitor_id: step.monitor_id, started_at };
  return {
    ...item,
    step,
    said: {
      ...item,
      scope: step.scope,
      continents: step.continents,
      ended_at: resolved_at,
      acknowledged_as: step.acknowledged_as,
      steady: as.steady,
    },
    monitor: {
      ...{ id: step.monitor_id, incident: step.incident_id, event, name, group, cause, started_at, resolved_at },
      target: step.monitor_name === null ? (before?.target ?? null) : step.type === 'heartbeat' ? null : step.target,
      confirmed_at: step.confirmed_at?.getTime() ?? before?.confirmed_at ?? null,
      seen_from: isGone ? (before?.seen_from ?? null) : from(step.seen_probe, step.seen_continent),
      confirmed_from: isGone ? (before?.confirmed_from ?? null) : from(step.confirmed_probe, step.confirmed_continent),
      matrix: as.matrix ?? before?.matrix ?? null,
    },
  };
};

/** What every continent saw, in a line. */
export const matrixLine = (seen: readonly { readonly continent: string; readonly failed: boolean }[]): string | null => {
  const of = (failed: boolean) => seen.filter((each) => each.failed === failed).map(({ continent }) => continent);
  const parts = [
    ['down from', of(true)],
    ['up from', of(false)],
  ] as const;
  const words = parts.filter(([, continents]) => continents.length > 0).map(([word, continents]) => `${word} ${continents.join(', ')}`);
  return words.length === 0 ? null : words.join('; ');
};

const mostNames = 5;

export const contentOf = (
  message: { readonly event: StepEvent; readonly items: readonly Leaving[] },
  around: {
    readonly organisation: string;
    readonly time_zone: string;
    /** What is down in the organisation. */
    readonly down: readonly { readonly incident: string; readonly name: string }[];
    readonly over: boolean;
    readonly now: number;
  },
): Content => {
  const { event, items } = message;
  const told = new Set(items.map(({ monitor }) => monitor.incident));
  const others = around.down.filter(({ incident }) => !told.has(incident));
  return {
    event,
    sentence: sentenceOf(
      items.map(({ said }) => said),
      around.now,
    ),
    monitors: items.map(({ monitor }) => monitor),
    others_down: { count: others.length, names: others.slice(0, mostNames).map(({ name }) => name) },
    organisation: around.organisation,
    time_zone: around.time_zone,
    at: Math.min(...items.map(({ step }) => step.due_at.getTime())),
    thread: { over: around.over },
  };
};
