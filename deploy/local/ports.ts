/** Free ports below 32768, where the system does not hand out ports of its own accord. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { codeOf } from '../../shared/base/error-code.ts';

/** The code of the error with which listening there fails, if it does. */
const listenFault = async (port: number, host: string): Promise<string | undefined> => {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const probe = createServer();
  probe.once('error', (error) => resolve(codeOf(error)));
  probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  return await promise;
};

const isFree = async (port: number): Promise<boolean> => (await listenFault(port, '127.0.0.1')) === undefined;

/** Why nothing can listen there, and what would do; undefined when something can. */
export const obstacleTo = async (port: number, host: string): Promise<string | undefined> => {
  const fault = await listenFault(port, host);
  if (fault === undefined) return undefined;
  const another = 'choose another with PORT=…, or PORT=0 for any free one';
  if (fault === 'EADDRINUSE') return `port ${port} is taken: ${another}`;
  if (fault === 'EACCES') return `port ${port} is not for this user: ${another}`;
  return `HOST=${host} is no address of this machine (${fault}): 127.0.0.1 is for this machine alone, 0.0.0.0 for all networks that it is in`;
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
