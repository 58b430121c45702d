/**
 * All parts of one start. Modes: gathering (a part that keeps ending fails the start) → settled (every end is told and healed) →
 * dismissed (stopped, the ones that use a database and a bus before those two).
 */
import { lastLines } from './local-child.ts';
import { keepRunning, type Part, type PartOptions } from './local-kept-part.ts';

export type Processes = {
  readonly start: (options: Omit<PartOptions, 'onChange'>) => Part;
  readonly pid: (name: string) => number | null;
  /** From now on nothing fails the start any more. */
  readonly settle: () => void;
  /** Rejects when a part keeps ending before the processes has settled. */
  readonly trouble: Promise<never>;
  readonly dismiss: () => Promise<void>;
};

export type ProcessEvents = {
  readonly say: (line: string) => void;
  /** A part has a new process. */
  readonly onStarted: (name: string, pid: number) => void;
};

const lastToStop = new Set(['postgres', 'nats']);
const endsThatFail = 3;

export const createProcesses = ({ say, onStarted }: ProcessEvents): Processes => {
  const parts = new Map<string, Part>();
  const trouble = Promise.withResolvers<never>();
  trouble.promise.catch(() => undefined); // Whoever waits for the start hears of it; without one it is told line by line.
  let settled = false;
  let dismissed = false;

  const giveUp = async (name: string, log: string): Promise<void> =>
    trouble.reject(new Error(`${name} ends again and again:\n${await lastLines(log)}`));

  const start: Processes['start'] = (options) => {
    const { name, log } = options.command;
    if (dismissed) throw new Error(`${name} is not started: the crew has been dismissed`);
    let ends = 0;
    const part = keepRunning({
      ...options,
      onChange: (event) => {
        if (event.is === 'started') {
          onStarted(name, event.pid);
          if (settled) say(`${name} runs again (process ${event.pid})`);
        } else if (settled) say(`${name} ended (${event.how}), starting it again; its log: ${log}`);
        else if (++ends >= endsThatFail) void giveUp(name, log);
      },
    });
    parts.set(name, part);
    return part;
  };

  const stopAll = async (which: (name: string) => boolean, graceMs: number): Promise<void> => {
    await Promise.all([...parts.values()].filter(({ name }) => which(name)).map((part) => part.stop(graceMs)));
  };

  return {
    start,
    pid: (name) => parts.get(name)?.pid() ?? null,
    settle: () => {
      settled = true;
    },
    trouble: trouble.promise,
    dismiss: async () => {
      dismissed = true;
      await stopAll((name) => !lastToStop.has(name), 2_500);
      await stopAll((name) => lastToStop.has(name), 1_500);
    },
  };
};
