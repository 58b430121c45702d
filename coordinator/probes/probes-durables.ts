import pLimit from 'p-limit';
import type { Log } from '../../shared/base/log.ts';
import type { ConsumerOptions } from '../../shared/bus/jetstream.ts';
import { BusRefusal } from '../../shared/bus/jetstream.ts';
import type { Bus } from '../../shared/bus/nats.ts';

/**
 * The durables of probes. Each lies with one server of the bus alone: while that one is away nobody answers for it, and when it stays away
 * the durable is made anew, where chance lays it.
 *
 * Modes of a durable: `kept` → (its server is gone) `lost` → (deleted, unanswered, and made anew) `kept`, or `lost` again, where it fell to the same server.
 */
export type Durables = {
  /** @throws when one of them could not be had; the others are there all the same. */
  readonly keep: (durables: readonly Durable[]) => Promise<void>;
  /** Settles when they are gone, or will be without a word. */
  readonly forget: (durables: readonly Durable[]) => Promise<void>;
  /** Removes them, and makes them anew: all comes to the probe once more. */
  readonly renew: (durables: readonly Durable[]) => Promise<void>;
  /** Asked again and again; keeps all of them, when a server has been away for so long that it may stay away. */
  readonly remakeLost: (all: () => readonly Durable[]) => Promise<void>;
};

export type Durable = { readonly stream: string; readonly consumer: ConsumerOptions };

type DurablesBus = Pick<Bus, 'isConnected' | 'ensureConsumer' | 'deleteConsumer' | 'streamState'>;

type Parts = {
  readonly bus: DurablesBus;
  readonly log: Pick<Log, 'info' | 'debug'>;
  /** How long this process runs, in milliseconds: no clock that can be set. */
  readonly elapsed?: () => number;
};

/** A server that was only started anew is back by then, with all that it kept. */
const awayMs = 15_000;
const againMs = 30_000;

/** Of three servers, one gone: all of these fall to it once in a thousand times, and then it is tried again. */
const mostTries = 6;
/** Whoever is there answers sooner; who is not there does not answer. */
const unansweredMs = 2_000;

const atOnce = 8;

export const createDurables = ({ bus, log, elapsed = () => performance.now() }: Parts): Durables => {
  /** By the word of the stream itself; a bus that answers nothing says nothing of who is gone. */
  const lacksServer = async (stream: string): Promise<boolean> => {
    if (!bus.isConnected()) return false;
    try {
      return ((await bus.streamState(stream))?.missing ?? 0) > 0;
    } catch (error) {
      log.debug({ err: error, stream }, 'a stream could not be asked who keeps it');
      return false;
    }
  };

  /** Whether nobody answered for it because its server is gone: a no is an answer, and a bus that is only slow is not made busier. */
  const isLost = async (stream: string, error: unknown): Promise<boolean> => !(error instanceof BusRefusal) && (await lacksServer(stream));

  /** @throws unless it is deleted, or will be though nobody says so: of a lost one nobody does. */
  const drop = async ({ stream, consumer }: Durable): Promise<void> => {
    try {
      await bus.deleteConsumer(stream, consumer.name, unansweredMs);
    } catch (error) {
      if (!(await isLost(stream, error))) throw error;
    }
  };

  const keepOne = async (durable: Durable): Promise<void> => {
    const { stream, consumer } = durable;
    for (let tries = 1; ; tries += 1) {
      try {
        await bus.ensureConsumer(stream, consumer, tries === 1 ? undefined : unansweredMs);
        if (tries > 1) log.info({ stream, consumer: consumer.name, tries }, 'what lay with a server that is gone was made anew');
        return;
      } catch (error) {
        if (tries === mostTries || !(await isLost(stream, error))) throw error;
      }
      await drop(durable);
    }
  };

  const each = async (durables: readonly Durable[], work: (durable: Durable) => Promise<void>): Promise<void> => {
    const limit = pLimit(atOnce);
    const outcomes = await Promise.allSettled(durables.map((durable) => limit(() => work(durable))));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
  };

  const keep: Durables['keep'] = (durables) => each(durables, keepOne);

  let lookAt: number | undefined;
  return {
    keep,
    forget: (durables) => each(durables, drop),
    renew: (durables) =>
      each(durables, async (durable) => {
        await drop(durable);
        await keepOne(durable);
      }),
    remakeLost: async (all) => {
      const durables = all();
      const lacking = await Promise.all([...new Set(durables.map(({ stream }) => stream))].map(lacksServer));
      if (!lacking.includes(true)) {
        lookAt = undefined;
        return;
      }
      lookAt ??= elapsed() + awayMs;
      if (elapsed() < lookAt) return;
      // Also when it fails.
      lookAt = elapsed() + againMs;
      await keep(durables);
    },
  };
};
