import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { insertSession } from '../../../coordinator/people/sessions.ts';
import { createAccountSecrets } from '../../../coordinator/secrets/account-secrets.ts';
import { sessionCookie } from '../../../coordinator/web/cookies.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { testSecretKey } from '../../support/people.ts';
import type { Rig } from '../scale/rig.ts';

const visits = 200;

/** The 99th percentile of some pages of a large organisation, in milliseconds, by path. */
export const pageTimes = async (
  { network, coordinator }: Rig,
  say: (progress: string) => void,
): Promise<ReadonlyMap<string, number>> => {
  const cookie = await cookieOf(network);
  const [one] = await network.sql<{ id: string }[]>`select id from monitors order by key limit 1`;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times = new Map<string, number>();
  try {
    for (const path of ['/', '/incidents', `/monitors/${one?.id}`]) {
      const name = path.replace(/[0-9a-f-]{36}/, 'ID');
      say(`page ${name}`);
      const took: number[] = [];
      for (let nth = 0; nth < visits; nth += 1) {
        const began = performance.now();
        const [answer] = await once(
          get(`${coordinator.url}${path}`, { agent, headers: { accept: 'text/html', cookie } }),
          'response',
        );
        for await (const _ of answer);
        if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}`);
        took.push(performance.now() - began);
      }
      // The first visits warm caches.
      const warm = took.slice(visits / 10).toSorted((a, b) => a - b);
      times.set(name, warm[Math.floor(warm.length * 0.99)] ?? Number.NaN);
    }
    return times;
  } finally {
    agent.destroy();
  }
};

async function cookieOf({ sql, house }: Rig['network']): Promise<string> {
  const text = randomBytes(32).toString('base64url');
  const secrets = createAccountSecrets(sql, { secretKey: testSecretKey, previousKey: undefined });
  await insertSession(sql, {
    id: newId(),
    fingerprint: await secrets.fingerprint('session', text),
    user: house.owner.user,
    at: Date.now(),
    address: '127.0.0.1',
    device: 'a bench',
  });
  return `${sessionCookie}=${text}`;
}
