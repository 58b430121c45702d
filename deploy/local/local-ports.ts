/** Free ports below 32768, where the system does not hand out ports of its own accord. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { listenObstacle } from '../../shared/base/listen-obstacle.ts';

/** The error with which listening there fails, if it does. */
const listenFault = async (port: number, host: string): Promise<Error | undefined> => {
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  const probe = createServer();
  probe.once('error', resolve);
  probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  return await promise;
};

const isFree = async (port: number): Promise<boolean> => (await listenFault(port, '127.0.0.1')) === undefined;

/** Why nothing can listen there, and what would do; undefined when something can. */
export const obstacleTo = async (port: number, host: string): Promise<string | undefined> => {
  const fault = await listenFault(port, host);
  if (fault === undefined) return undefined;
  const obstacle = listenObstacle(fault, port, host) ?? fault.message;
  return obstacle.startsWith('port') ? `${obstacle}: choose another with PORT=…, or PORT=0 for any free one` : obstacle;
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
