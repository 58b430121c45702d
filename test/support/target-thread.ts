/**
 * A target in a thread of its own: however busy the test's process is, those who check it are
 * answered.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { z } from 'zod';
import type { Continent } from '../../shared/base/continents.ts';
import { type Hit, type PlainAnswer, startTarget, type Target } from './targets.ts';

export type TargetThread = Pick<Target, 'port' | 'hits' | 'close'> & {
  /** Settles when it holds for whoever asks from now on. */
  readonly answer: (answer: PlainAnswer, from?: readonly Continent[]) => Promise<void>;
};

type Told = { readonly answer: PlainAnswer; readonly from: readonly Continent[] | undefined };
type Said =
  | { readonly is: 'listening'; readonly port: number }
  | { readonly is: 'hit'; readonly hit: Hit }
  /** What it was told last is in force. */
  | { readonly is: 'told' };

const purpose = 'antipode test target';
const given = z.object({ purpose: z.literal(purpose), host: z.string() });

/** In the thread. */
const serve = async (host: string, port: NonNullable<typeof parentPort>): Promise<void> => {
  const say = (said: Said): void => port.postMessage(said);
  const target = await startTarget({ host, onHit: (hit) => say({ is: 'hit', hit }) });
  port.on('message', ({ answer, from }: Told) => {
    target.answer(answer, from);
    say({ is: 'told' });
  });
  say({ is: 'listening', port: target.port });
};

const isOurs = given.safeParse(workerData);
if (!isMainThread && parentPort && isOurs.success) await serve(isOurs.data.host, parentPort);

export const startTargetThread = async (host: string): Promise<TargetThread> => {
  const worker = new Worker(new URL(import.meta.url), { workerData: { purpose, host } });
  const hits: Hit[] = [];
  const listening = Promise.withResolvers<number>();
  const waiting: (() => void)[] = [];
  worker.on('message', (said: Said) => {
    if (said.is === 'hit') hits.push(said.hit);
    else if (said.is === 'told') waiting.shift()?.();
    else listening.resolve(said.port);
  });
  worker.once('error', listening.reject);
  return {
    port: await listening.promise,
    hits,
    answer: (answer, from) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      worker.postMessage({ answer, from } satisfies Told);
      return promise;
    },
    close: async () => {
      await worker.terminate();
    },
  };
};
