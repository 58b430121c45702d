import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyLimit, largeBodyLimit } from '../../../coordinator/api/body.ts';
import type { Sql } from '../../../coordinator/database/connect.ts';
import { handlers } from '../../../coordinator/operations.ts';
import { pages } from '../../../coordinator/pages.ts';
import { insertSession } from '../../../coordinator/people/sessions.ts';
import { createAccountSecrets } from '../../../coordinator/secrets/account-secrets.ts';
import { sessionCookie } from '../../../coordinator/web/cookies.ts';
import { restOperations } from '../../../shared/api/index.ts';
import { InvalidInput, type RestOperation } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { sources } from '../../../shared/imports/sources.ts';
import { gateBench } from '../../support/gate.ts';
import { type Largest, largestBodies } from '../../support/largest.ts';
import { createNetwork, type Network } from '../../support/network.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';

/**
 * /livez answers within a second whatever tenants send. Each operation that takes a list, a table or
 * a file is found by its own description, so that none is forgotten.
 */

/** CPU time, which other programs of the machine lengthen little. */
const mostMs = 1_000;

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** What the longest turn of this thread's event loop takes, while `work` goes on. */
const longestTurn = async (work: () => Promise<unknown>): Promise<number> => {
  let longest = 0;
  let before = cpuMs();
  const look = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - before);
    before = now;
  };
  const timer = setInterval(look, 5);
  try {
    await work();
    look();
    return longest;
  } finally {
    clearInterval(timer);
  }
};

const list = <Value>(count: number, of: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => of(index));
const table = <Value>(count: number, of: (index: number) => Value) =>
  Object.fromEntries(list(count, (index) => [`k${index}`, of(index)]));
const monitor = (index: number) => ({
  type: 'https',
  target: `https://host-${index}.example.com/`,
  external_id: `e${index}`,
  name: `Monitor ${index}`,
});

/** What no description gives: good as a whole, or bad at great length. */
const files: readonly Largest[] = [
  { what: '10,000 monitors', body: () => JSON.stringify({ monitors: table(10_000, monitor) }) },
  {
    what: '10,000 monitors of a group that is not there',
    body: () =>
      JSON.stringify({ monitors: table(10_000, (at) => ({ ...monitor(at), group: 'none' })) }),
  },
  {
    what: 'channels that name 2,000 monitors each',
    body: () =>
      JSON.stringify({
        monitors: table(2_000, monitor),
        channels: table(50, () => ({
          kind: 'webhook',
          config: { url: 'https://hooks.example.com/' },
          monitors: list(2_000, (at) => `k${at}`),
        })),
      }),
  },
  {
    what: '9,000 monitors with patterns of letters in any case',
    body: () =>
      JSON.stringify({
        monitors: table(9_000, (at) => ({
          type: 'https',
          target: `https://h${at}.example/`,
          config: { body_matches: `(?i)${'[^a-zA-Z]'.repeat(10)}${at}` },
        })),
      }),
  },
  {
    what: 'a field with a long name',
    body: () => JSON.stringify({ monitors: { web: { ['t'.repeat(2_000_000)]: 1 } } }),
  },
];
const wide = {
  items: list(500, (at) => ({
    ...monitor(at),
    config: { headers: table(20, () => 'x'.repeat(170)) },
  })),
};
const byHand: Readonly<Record<string, readonly Largest[]>> = {
  applyFile: [...files, ...files.slice(0, 1)],
  batchMonitors: [{ what: '500 monitors of 4 KB', body: () => JSON.stringify(wide) }],
};

const anyId = '019a9c12-8d3a-7c61-b4e0-5f7a9c2d1b44';

/** Asks again and again from a thread of its own. */
const askLivez = (url: string) => {
  const thread = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
    let on = true;
    parentPort.once('message', () => { on = false; });
    (async () => {
      const heard = [];
      for (; on; await new Promise((resolve) => setTimeout(resolve, 50)))
        heard.push((await fetch(workerData)).status);
      parentPort.postMessage(heard);
    })();`,
    { eval: true, workerData: `${url}/livez` },
  );
  return async (): Promise<readonly number[]> => {
    const [[heard]] = await Promise.all([once(thread, 'message'), thread.postMessage('end')]);
    return heard;
  };
};

describe('over HTTP', () => {
  let network: Network;
  let url: string;
  let livez: ReturnType<typeof askLivez>;
  beforeAll(async () => {
    network = await createNetwork({ settings: { RATE_LIMIT_PER_MINUTE: '1000000' } });
    ({ url } = await network.startCoordinator());
    // Monitors need a place. One that checks ten thousands of them is not the subject.
    await network.makeProbe('Europe');
    livez = askLivez(url);
  });
  afterAll(() => network.close());

  // A plan is an application that is undone: the same reader, the same statements.
  const once = restOperations.filter(({ id }) => id !== 'planFile');
  const bodies = once.flatMap((operation: RestOperation) =>
    [
      ...largestBodies(operation, operation.takesMuch ? largeBodyLimit : bodyLimit),
      ...(byHand[operation.id] ?? []),
    ].map(({ what, body }) => ({ id: operation.id, operation, what, body })),
  );

  test.each(bodies)('$id with $what', async ({ operation, body }) => {
    const path = operation.path.replaceAll(/\{\w+\}/g, (name) =>
      name === '{file}' ? 'shop' : anyId,
    );
    const text = body();
    const longest = await longestTurn(async () => {
      const answer = await fetch(`${url}${path}`, {
        method: operation.method,
        headers: {
          authorization: `Bearer ${network.house.owner.readWrite}`,
          'content-type': 'application/json',
        },
        body: text,
      });
      expect(answer.status).not.toBe(500);
      await answer.text();
    });
    expect(longest).toBeLessThan(mostMs);
  });

  const checks = (count: number, name: (at: number) => string): string =>
    JSON.stringify({ checks: list(count, (at) => ({ name: name(at), timeout: 3_600 })) });
  const many = checks(10_000, (at) => `check ${at}`);
  const uploads: readonly (readonly [string, string])[] = [
    ['healthchecks', many],
    ['healthchecks', checks(10_000, () => 'same')],
    [
      'gatus',
      `endpoints:\n${list(9_000, (at) => `- {name: n${at}, url: "https://h${at}.example", headers: {X-Token: "t${at}"}, conditions: ["[STATUS] == 200"]}\n`).join('')}`,
    ],
    ...sources.map((source): [string, string] => [
      source,
      source === 'gatus' || source === 'blackbox'
        ? list(250_000, () => '- {}\n').join('')
        : JSON.stringify(list(650_000, () => ({}))),
    ]),
  ];
  const sent = pages.flatMap(({ takesFile, path }) =>
    takesFile === true
      ? path === '/import/file'
        ? uploads.map(([from, text]) => ({ path: `${path}?from=${from}`, text }))
        : [{ path: path.replaceAll(/:\w+/g, anyId), text: 'x'.repeat(4_000_000) }]
      : [],
  );
  test.each(sent)('the page $path with a file', async ({ path, text }) => {
    const { owner } = await createTestOrganisation(network.sql);
    const cookie = await cookieOf(network.sql, owner);
    const headers = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin' };
    const ask = (to: string, init: RequestInit = {}) =>
      fetch(`${url}${to}`, { redirect: 'manual', headers, ...init });
    const body = new FormData();
    body.append(path.startsWith('/import') ? 'document' : 'logo', new Blob([text]), 'file');
    const longest = await longestTurn(async () => {
      const answer = await ask(path, { method: 'POST', body });
      expect(answer.status).toBeLessThan(500);
      const to = answer.headers.get('location');
      if (to === null) return;
      expect((await ask(to)).status).toBe(200);
      // As many are applied from the file whose checks all have the same name.
      if (text === many) return;
      const applied = await ask(`${to}/apply`, { method: 'POST', body: new URLSearchParams() });
      expect(applied.status).toBe(303);
      expect((await ask(to)).status).toBe(200);
    });
    expect(longest).toBeLessThan(mostMs);
  });

  test('and /livez answered all the while', async () => {
    const heard = await livez();
    expect(heard.length).toBeGreaterThan(100);
    expect(new Set(heard)).toEqual(new Set([200]));
  });
});

describe('by forms', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
    await bench.addProbe('Europe');
  });

  const routed = new Set(restOperations.map(({ id }) => id));
  const bodies = Object.values(handlers.organisation)
    .map(({ operation }) => operation)
    .filter(({ id }) => !routed.has(id))
    .flatMap((operation) =>
      largestBodies(operation, bodyLimit).map(({ what, body }) => ({
        id: operation.id,
        operation,
        what,
        body,
      })),
    );

  test.each(bodies)('$id with $what', async ({ operation, body }) => {
    const input: unknown = JSON.parse(body());
    const longest = await longestTurn(async () => {
      const path = Object.fromEntries(Object.keys(operation.params).map((name) => [name, anyId]));
      try {
        await bench.gate.execute(operation, house.owner.caller, { path, body: input });
      } catch (error) {
        if (!(error instanceof Refusal || error instanceof InvalidInput)) throw error;
      }
    });
    expect(longest).toBeLessThan(mostMs);
  });
});

const cookieOf = async (sql: Sql, { user }: Person): Promise<string> => {
  const text = randomBytes(32).toString('base64url');
  const secrets = createAccountSecrets(sql, { secretKey: testSecretKey });
  await insertSession(sql, {
    id: newId(),
    fingerprint: await secrets.fingerprint('session', text),
    user,
    at: Date.now(),
    address: '127.0.0.1',
    device: 'a test',
  });
  return `${sessionCookie}=${text}`;
};
