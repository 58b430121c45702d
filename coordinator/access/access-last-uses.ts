import type { Log } from '../../shared/base/log.ts';

/** When what lets somebody in was last used: noted in memory, so that no call waits for a write, and written down for many at once. */
export type LastUses<Use> = {
  readonly note: (id: string, use: Use) => void;
  /** Writes down what was noted; runs by itself. */
  readonly flush: () => Promise<void>;
};

type Parts<Use> = {
  readonly write: (uses: ReadonlyMap<string, Use>) => Promise<void>;
  readonly log: Pick<Log, 'warn'>;
  /** What the log calls them, and what has it tried again. */
  readonly of: string;
  readonly again: string;
};

const flushEvery = 60_000;

export const createLastUses = <Use>({ write, log, of, again }: Parts<Use>): LastUses<Use> => {
  let uses = new Map<string, Use>();
  let timer: NodeJS.Timeout | undefined;

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const taken = uses;
    uses = new Map();
    try {
      await write(taken);
    } catch (error) {
      for (const [id, use] of taken) if (!uses.has(id)) uses.set(id, use);
      log.warn({ err: error }, `the last use of ${of} could not be written; it is tried again with the next ${again}`);
    }
  };

  return {
    note: (id, use) => {
      uses.set(id, use);
      timer ??= setTimeout(() => void flush(), flushEvery).unref();
    },
    flush,
  };
};
