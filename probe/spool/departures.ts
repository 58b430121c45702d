import type { Key } from '../../shared/bus/identity.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { signaturesOf } from '../../shared/bus/signature.ts';

/**
 * Batches on their way out: what leaves in the same moment is signed together.
 *
 * Modes: `empty` → `gathering` (something came; all else that comes in this turn of the loop goes along) → `empty`.
 */
export type Departures = {
  /** Settles when the stream has it. */
  readonly store: (through: Bus, subject: string, body: Uint8Array) => Promise<unknown>;
};

type Waiting = { readonly body: Uint8Array; readonly go: (headers: Parameters<Bus['publish']>[2]) => void };

export const createDepartures = (key: Key): Departures => {
  let gathered: Waiting[] = [];

  const leave = (): void => {
    const leaving = gathered;
    gathered = [];
    const signed = signaturesOf(
      key,
      leaving.map(({ body }) => body),
    );
    for (const [nth, { go }] of leaving.entries()) go(signed[nth]);
  };

  return {
    store: (through, subject, body) =>
      new Promise((resolve) => {
        if (gathered.length === 0) setImmediate(leave);
        gathered.push({ body, go: (headers) => resolve(through.store(subject, body, headers === undefined ? {} : { headers })) });
      }),
  };
};
