/** Tells a heartbeat of a run: that it began, and how it ended. Best one at another installation, which is there when this one is not. */
import { pause } from '../../shared/base/retry.ts';

export type Heartbeat = {
  readonly began: () => Promise<void>;
  readonly ended: (isWell: boolean, output: string) => Promise<void>;
};

const patienceMs = 10_000;
const waits = [1_000, 2_000] as const;
/** As much as a heartbeat keeps of what a job says. */
const mostOutput = 10_000;

const post = async (address: string, body: string): Promise<void> => {
  const answer = await fetch(address, { method: 'POST', body, signal: AbortSignal.timeout(patienceMs) });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
};

/** The address ends in a secret: it stands in no message. What cannot be told is said, and keeps no backup from being made. */
export const createHeartbeat = (address: string | undefined, warn: (text: string) => void): Heartbeat => {
  const tell = async (ending: string, body: string): Promise<void> => {
    if (address === undefined) return;
    for (const wait of [...waits, undefined]) {
      try {
        await post(`${address.replace(/\/+$/, '')}${ending}`, body.slice(-mostOutput));
        return;
      } catch (error) {
        if (wait === undefined) warn(`the heartbeat could not be told: ${error instanceof Error ? error.message : String(error)}\n`);
        else await pause(wait);
      }
    }
  };
  return { began: () => tell('/start', ''), ended: (isWell, output) => tell(isWell ? '' : '/fail', output) };
};
