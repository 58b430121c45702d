import { backoff, pause } from '../base/retry.ts';
import { mergePings, type PingState } from '../checks/heartbeat/checks-heartbeat-state.ts';
import { BusRefusal } from './bus-jetstream-answer.ts';
import { jsonOf } from './bus-message-json.ts';
import { pingStateMessage } from './bus-messages.ts';
import type { Bus } from './bus-nats.ts';
import { streams } from './bus-streams.ts';
import { subjects } from './bus-subjects.ts';

/**
 * What the pings of each monitor come to, as the bus has it: one record for each, changed only on top of what it was (compare and set), so
 * that ping receivers all over the world can count in the same record and none is undone.
 *
 * Modes: `sure` → (the connection broke) `doubtful`: the bus may have lost what was written from here; if a sample shows that it did, it
 * gets all of it once more → `sure`.
 */
export type PingRecords = {
  /** undefined: there is none, which after a wiped bus says nothing about the pings. @throws when the bus cannot be asked. */
  readonly read: (organisation: string, monitor: string) => Promise<PingState | undefined>;
  /** Changes of one monitor happen in the order of these calls. @throws when the bus did not take it; it may have all the same. */
  readonly change: (organisation: string, monitor: string, change: (state: PingState | undefined) => PingState) => Promise<void>;
  /** Where there is doubt: looks whether the bus was wiped, and tells it again what was written from here. @throws when it cannot be asked. */
  readonly recover: () => Promise<void>;
};

/** A record and the number of the message that holds it; 0 when there is none. */
type Held = { readonly seq: number; readonly state: PingState | undefined };

const wrongLastSequence = 10071;
const mostAttempts = 12;
const mostRemembered = 20_000;
const sampleSize = 3;
const atOnce = 100;

const parse = (data: Uint8Array): PingState | undefined => {
  if (data.length === 0) return undefined;
  try {
    const read = pingStateMessage.safeParse(jsonOf(data));
    return read.success ? read.data : undefined;
  } catch {
    return undefined; // Whoever wrote that cannot be asked; a record that cannot be read is as good as none.
  }
};

/** Whether the bus knows less than what was written to it. */
const lags = (there: PingState | undefined, written: PingState): boolean =>
  there === undefined || (written.good?.at ?? 0) > (there.good?.at ?? 0) || (written.bad?.at ?? 0) > (there.bad?.at ?? 0);

export const createPingRecords = (bus: Bus, options: { readonly timeoutMs?: number } = {}): PingRecords => {
  const { timeoutMs = 2_000 } = options;
  // What was last written from here: mostly still true, which saves a question for each ping. If it is not, the bus refuses, and it is asked.
  const remembered = new Map<string, Held>();
  const lines = new Map<string, Promise<void>>();
  let isDoubtful = false;
  bus.onStatus((status) => {
    if (status === 'connected') isDoubtful = true;
  });

  const ask = async (subject: string): Promise<Held> => {
    const answer = await bus.request(`$JS.API.DIRECT.GET.${streams.lastPings.name}.${subject}`, '', { timeoutMs });
    const seq = Number(answer.header('Nats-Sequence') ?? 0);
    return { seq, state: seq === 0 ? undefined : parse(answer.data) };
  };

  const remember = (subject: string, held: Held): void => {
    remembered.delete(subject);
    remembered.set(subject, held);
    const [oldest] = remembered.size > mostRemembered ? remembered.keys() : [];
    if (oldest !== undefined) remembered.delete(oldest);
  };

  const write = async (subject: string, change: (state: PingState | undefined) => PingState): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      const held = remembered.get(subject) ?? (await ask(subject));
      const state = change(held.state);
      if (state === held.state) return;
      try {
        const headers = { 'Nats-Expected-Last-Subject-Sequence': String(held.seq) };
        const { seq } = await bus.store(subject, JSON.stringify(state), { timeoutMs, headers });
        return remember(subject, { seq, state });
      } catch (error) {
        remembered.delete(subject);
        const overtaken = error instanceof BusRefusal && error.code === wrongLastSequence;
        if (!overtaken || attempt >= mostAttempts) throw error;
        await pause(backoff(attempt, 1, 50) * Math.random());
      }
    }
  };

  /** Changes of one record one after the other. */
  const inLine = (subject: string, change: (state: PingState | undefined) => PingState): Promise<void> => {
    const done = (lines.get(subject) ?? Promise.resolve()).then(() => write(subject, change));
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (lines.get(subject) === settled) lines.delete(subject);
      });
    lines.set(subject, settled);
    return done;
  };

  /** Of the last that were written, none is there any more: one alone may belong to a monitor that was deleted. */
  const isWiped = async (): Promise<boolean> => {
    const sample = [...remembered].slice(-sampleSize);
    const lagging = await Promise.all(
      sample.map(async ([subject, { state }]) => state !== undefined && lags((await ask(subject)).state, state)),
    );
    return sample.length > 0 && !lagging.includes(false);
  };

  const tellAgain = async (): Promise<void> => {
    const known = [...remembered];
    remembered.clear();
    for (let at = 0; at < known.length; at += atOnce)
      await Promise.all(
        known
          .slice(at, at + atOnce)
          .map(([subject, { state }]) => state && inLine(subject, (seen) => (seen ? mergePings(state, seen) : state))),
      );
  };

  return {
    read: async (organisation, monitor) => (await ask(subjects.lastPings(organisation, monitor))).state,
    change: (organisation, monitor, change) => inLine(subjects.lastPings(organisation, monitor), change),
    recover: async () => {
      if (!isDoubtful) return;
      if (await isWiped()) await tellAgain();
      isDoubtful = false;
    },
  };
};
