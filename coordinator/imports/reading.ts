import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { Refusal } from '../../shared/base/errors.ts';
import { type Reach, SourceRefused } from '../../shared/imports/download.ts';
import type { Imported } from '../../shared/imports/result.ts';
import type { Reply, Said, Wanted } from './thread.ts';
import { startThread } from './thread-start.ts';

/**
 * Reads an import in a thread of its own, which has few seconds and little memory: whatever a
 * document holds, the coordinator goes on meanwhile. The thread reaches nobody by itself; it asks
 * here, within a budget.
 */

/** Of the thread's own CPU time: a busy machine refuses nothing that an idle one reads. */
const workMs = 5_000;
const lookMs = 100;
const memory = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 8, stackSizeMb: 4 };
const budget = { requests: 100, bytes: 8 * 1_024 * 1_024, ms: 60_000, waitS: 5 };
/** Each needs its memory; a download mostly waits. */
const threads = { document: pLimit(1), key: pLimit(2) };
const mostWaiting = 10;

type World = {
  readonly reach: Reach;
  /** Aborts when nobody waits for it any more. */
  readonly gone: AbortSignal | undefined;
};

/** @throws Refusal `import_invalid`. */
export function readImport(wanted: Wanted, world: World): Promise<Imported> {
  const inTurn = threads['key' in wanted ? 'key' : 'document'];
  if (inTurn.pendingCount >= mostWaiting)
    throw invalid('Others import at the moment; try again in a minute.');
  return inTurn(() => readAlone(wanted, world));
}

function invalid(message: string): Refusal {
  return new Refusal('import_invalid', message);
}

async function readAlone(wanted: Wanted, { reach, gone }: World): Promise<Imported> {
  gone?.throwIfAborted();
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, ...(gone ? [gone] : [])]);
  const thread = startThread({
    workerData: { importing: wanted },
    resourceLimits: memory,
    env: {},
  });
  try {
    return await Promise.race([
      conversation(thread, withinBudget(reach, signal)),
      aborted(signal),
      overworked(thread, ended.signal),
      overtime(budget.ms, ended.signal),
    ]);
  } finally {
    ended.abort();
    await thread.terminate();
  }
}

async function overworked(thread: Worker, end: AbortSignal): Promise<never> {
  for (;;) {
    await delay(lookMs, undefined, { signal: end });
    // Of a thread that has ended there is none; its own events say why it did.
    const used = await thread.cpuUsage().catch(() => undefined);
    if (used !== undefined && used.user + used.system > workMs * 1_000) throw tooMuch();
  }
}

function tooMuch(): Refusal {
  return invalid('It is too large or too tangled to be read here; use the command line for it.');
}

function overtime(ms: number, end: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(() => reject(tooLong()), ms);
    end.addEventListener('abort', () => clearTimeout(timer));
  });
}

function tooLong(): Refusal {
  return invalid(
    'The service answers with more than can be read here; use the command line for it.',
  );
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

type Answers = {
  readonly reach: Reach;
  readonly wait: (seconds: number) => Promise<void>;
};

function withinBudget(reach: Reach, signal: AbortSignal): Answers {
  let requests = 0;
  let bytes = 0;
  return {
    reach: async (request) => {
      requests += 1;
      if (requests > budget.requests) throw tooLong();
      const answer = await reach(request, signal);
      bytes += Buffer.byteLength(answer.text);
      if (bytes > budget.bytes) throw tooLong();
      return answer;
    },
    wait: async (seconds) => {
      if (seconds > budget.waitS)
        throw invalid('The service allows no more calls for now; try again later.');
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    },
  };
}

function conversation(thread: Worker, { reach, wait }: Answers): Promise<Imported> {
  return new Promise((resolve, reject) => {
    const goOn = (reply: Reply): void => thread.postMessage(reply);
    const answer = async (said: Said): Promise<void> => {
      switch (said.is) {
        case 'reach':
          return goOn({ is: 'reached', answer: await reach(said.request) });
        case 'wait':
          await wait(said.seconds);
          return goOn({ is: 'waited' });
        case 'done':
          return resolve(said.imported);
        case 'refused':
          return reject(invalid(said.message));
      }
    };
    thread.on('message', (said: Said) => {
      answer(said).catch((error: unknown) =>
        reject(error instanceof SourceRefused ? invalid(error.message) : error),
      );
    });
    // Its memory did not suffice, or its stack.
    thread.once('error', (error: unknown) => reject(isExhausted(error) ? tooMuch() : error));
  });
}

function isExhausted(error: unknown): boolean {
  return (
    error instanceof RangeError ||
    (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
  );
}
