import { connect } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import type { Bus } from '../../shared/bus/nats.ts';
import { socketName } from '../disk/files.ts';

/** What a running probe answers to a health query on its machine. */
export const healthShape = z.object({
  name: z.string(),
  continent: z.string(),
  version: z.string(),
  /** Whether the probe reaches the bus now. */
  bus: z.boolean(),
  /** How many seconds ago a coordinator last answered; null: never since the start. */
  heard_s: z.number().nullable(),
  monitors: z.number(),
  waiting: z.number(),
});

export type Health = z.infer<typeof healthShape>;

/** `heardAt`: by the process's own clock. */
export const healthText = ({
  heardAt,
  bus,
  ...of
}: Omit<Health, 'heard_s' | 'bus'> & {
  readonly heardAt: number | undefined;
  readonly bus: Pick<Bus, 'isConnected'> | undefined;
}): string => {
  const heard_s = heardAt === undefined ? null : (performance.now() - heardAt) / 1_000;
  const health: Health = { ...of, bus: bus?.isConnected() ?? false, heard_s };
  return JSON.stringify(health);
};

const patienceMs = 3_000;

const ask = (path: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect(path);
    let text = '';
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on('data', (data: Buffer) => {
      text += data.toString();
    });
    socket.once('error', () => resolve(undefined));
    socket.once('close', () => resolve(text));
  });

/**
 * For containers. A probe is healthy while it checks, even if no one receives its results: a
 * restart would only lose time. 1: it does not run. `strict`: 2 where no coordinator has answered
 * for half a minute.
 */
export const askHealth = async (folder: string, strict: boolean): Promise<{ readonly exit: number; readonly words: string }> => {
  const said = await ask(join(folder, socketName));
  if (said === undefined || said === '') return { exit: 1, words: `no probe runs on ${folder}` };
  const { name, continent, bus, heard_s, monitors, waiting } = healthShape.parse(JSON.parse(said));
  const isHeard = heard_s !== null && heard_s <= 30;
  const heard = heard_s === null ? 'no coordinator has answered yet' : `a coordinator answered ${Math.round(heard_s)} s ago`;
  const words = `${name} in ${continent} checks ${monitors} monitors; ${bus ? 'on the bus' : 'the bus cannot be reached'}, ${heard}, ${waiting} results wait`;
  return { exit: strict && !isHeard ? 2 : 0, words };
};
