/** Tells a heartbeat of a run: that it began, and how it ended. Best one at another installation, which is there when this one is not. */
import { keptOfOutput, tellHeartbeat } from '../../shared/base/heartbeat.ts';

export type Heartbeat = {
  readonly began: () => Promise<void>;
  readonly ended: (isWell: boolean, output: string) => Promise<void>;
};

const attempts = 3;

/** What cannot be told is said, and keeps no backup from being made. */
export const createHeartbeat = (address: string | undefined, warn: (text: string) => void): Heartbeat => {
  const tell = async (ending: string, output: string): Promise<void> => {
    if (address === undefined) return;
    const fault = await tellHeartbeat(`${address.replace(/\/+$/, '')}${ending}`, output.slice(-keptOfOutput), attempts);
    if (fault !== undefined) warn(`the heartbeat could not be told: ${fault}\n`);
  };
  return { began: () => tell('/start', ''), ended: (isWell, output) => tell(isWell ? '' : '/fail', output) };
};
