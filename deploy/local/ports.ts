/** Free ports below 32768, where the system does not hand out ports of its own accord. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

export const isFree = async (port: number, host = '127.0.0.1'): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = createServer();
  probe.once('error', () => resolve(false));
  probe.listen(port, host, () => probe.close(() => resolve(true)));
  return await promise;
};

/** A port that was free a moment ago; `preferred` ones are taken first, so that addresses stay the same from one start to the next. */
export const freePort = async (...preferred: readonly (number | undefined)[]): Promise<number> => {
  for (const port of preferred) if (port !== undefined && (await isFree(port))) return port;
  for (let tries = 0; tries < 200; tries++) {
    const port = randomInt(20_000, 32_768);
    if (await isFree(port)) return port;
  }
  throw new Error('found no free port between 20000 and 32767 on 127.0.0.1');
};
