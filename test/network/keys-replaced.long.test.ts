import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { App } from '../../coordinator/app.ts';
import {
  createSecretsAtRest,
  readSealing,
  sealEpochOf,
} from '../../coordinator/secrets/at-rest.ts';
import { openNetworkKnowledge } from '../../probe/presence/knowledge.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { AssignmentMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { deriveNetworkKey, keyIdOf } from '../../shared/checks/sealed-secrets.ts';
import { eventually, passed } from '../support/eventually.ts';
import { deltaOf, publishedFor } from '../support/monitors.ts';
import { createNetwork, type Network, quickResync } from '../support/network.ts';
import { testSecretKey } from '../support/people.ts';
import type { Target } from '../support/targets.ts';

/**
 * The keys that secrets travel under: a probe that is revoked takes the key of its place out of
 * use.
 */

const secret = 'swordfish-swordfish-swordfish';
let network: Network;
let target: Target;
let bus: Bus;
const seen: string[] = [];
const coordinators: (App & { readonly url: string })[] = [];

beforeAll(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  target.answer({
    is: 'by',
    answer: (request, response) => {
      seen.push(request.headers.authorization ?? 'none');
      response.end('fine');
    },
  });
  bus = await network.joinBus(true);
});
afterAll(() => network.close());

const addSecretMonitor = async (url: string): Promise<string> => {
  const answer = await fetch(`${url}/api/v1/monitors`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${network.house.owner.readWrite}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      type: 'https',
      target: target.url(),
      interval_s: 3_600,
      config: { bearer_token: secret },
    }),
  });
  expect(answer.status).toBe(201);
  return z.object({ id: z.string() }).parse(await answer.json()).id;
};

/** What the bus has of a monitor for the probes of a continent. */
const published = async (
  continent: Continent,
  monitor: string,
): Promise<AssignmentMessage | undefined> =>
  (await publishedFor(bus, continent, monitor)) ?? undefined;

const keyOfBox = async (continent: Continent, monitor: string): Promise<string | undefined> => {
  const assignment = await published(continent, monitor);
  return assignment && keyIdOf(assignment.sealed ?? '');
};

/** The key that the database says is in use. */
const keyInUse = async (place: string): Promise<string> =>
  deriveNetworkKey(
    testSecretKey,
    place,
    sealEpochOf((await readSealing(network.sql)).epochs, place),
  ).id;

const isAllowedAt = () =>
  eventually(
    async () =>
      (await network.sql`select 1 from probes where cardinality(allowed_cidrs) > 0`).length > 0,
  );

const keysOnDisk = async (folder: string): Promise<string[]> =>
  Object.keys(JSON.parse(await readFile(join(folder, 'network.json'), 'utf8')).seal_keys);

describe('the key that seals secrets for a continent', () => {
  test('changes once a probe there is revoked: the others continue to check, and the revoked one opens nothing new', async () => {
    const timing = { digestMs: 500, ...quickResync() };
    coordinators.push(
      await network.startCoordinator({ timing }),
      await network.startCoordinator({ timing }),
    );
    const [url = '', other = ''] = coordinators.map((each) => each.url);
    const stays = await network.addProbe('Europe');
    const goes = await network.addProbe('Europe');
    await network.addProbe('Asia');
    await isAllowedAt();
    const monitor = await addSecretMonitor(url);
    const before = await eventually(() => published('Europe', monitor));
    const asia = await eventually(() => keyOfBox('Asia', monitor));
    await network.editMonitor(monitor, { interval_s: 1 });
    await eventually(async () => (await keysOnDisk(goes.made.folder)).length === 1);
    await goes.close();
    const thief = await openNetworkKnowledge({
      folder: goes.made.folder,
      signingKeys: [],
      log: network.log,
    });
    expect(thief.unseal(before).config.bearer_token).toBe(secret);

    await network.revokeProbe(goes.made.id);
    const key = await keyInUse('Europe');
    expect(key).not.toBe(keyIdOf(before.sealed ?? ''));
    await eventually(async () => (await keyOfBox('Europe', monitor)) === key);
    expect(await keyOfBox('Asia', monitor)).toBe(asia);
    const after = await eventually(() => published('Europe', monitor));
    expect(() => thief.unseal(after)).toThrow(key);

    await eventually(async () => (await keysOnDisk(stays.made.folder)).join() === key);
    const from = target.hits.length;
    await eventually(
      () => target.hits.slice(from).filter(({ continent }) => continent === 'Europe').length > 2,
      40_000,
    );
    expect(new Set(seen)).toEqual(new Set([`Bearer ${secret}`]));
    // Whatever is published from now on is under the new key, whoever publishes it.
    const later = await addSecretMonitor(other);
    expect(await eventually(() => keyOfBox('Europe', later))).toBe(key);
    // A coordinator that was frozen may still publish what it had sealed before: it is noticed and
    // undone.
    await eventually(() => bus.store(deltaOf('Europe', before), JSON.stringify(before)));
    await eventually(async () => (await keyOfBox('Europe', monitor)) === key, 90_000);
    await stays.close();
  });

  test('changes when rotated-out credentials end, because their holder may have it', async () => {
    const made = await network.makeProbe('Africa');
    const renewed = await network.rotateProbe(made);
    const probe = await network.startProbe(renewed);
    const before = await keyInUse('Africa');
    await network.sql`update probes set keys = jsonb_set(keys, '{0,until}', to_jsonb(${Date.now() - 1}::bigint)) where id = ${made.id}`;
    await eventually(async () => (await keyInUse('Africa')) !== before);
    await eventually(
      async () => (await keysOnDisk(made.folder)).join() === (await keyInUse('Africa')),
    );
    await probe.close();
    await Promise.all(coordinators.map(({ close }) => close()));
  });

  test('is in use everywhere in the end, whenever coordinators are killed meanwhile', async () => {
    let coordinator = await network.startCoordinatorProcess();
    const monitors = await Promise.all(
      Array.from({ length: 40 }, () => addSecretMonitor(coordinator.url)),
    );
    const allUnder = async (key: string) =>
      (await Promise.all(monitors.map((monitor) => keyOfBox('Europe', monitor)))).every(
        (each) => each === key,
      );
    const first = await keyInUse('Europe');
    await eventually(() => allUnder(first), 40_000);
    for (const ms of [0, 15, 60]) {
      const { id } = await network.makeProbe('Europe');
      await network.revokeProbe(id);
      await passed(ms);
      coordinator.signal('SIGKILL');
      await coordinator.exited;
      // And one that nobody heard of.
      const another = await network.makeProbe('Europe');
      await network.revokeProbe(another.id);
      coordinator = await network.startCoordinatorProcess();
      const key = await keyInUse('Europe');
      await eventually(() => allUnder(key), 30_000);
    }
    await coordinator.stop();
  });

  test('is derived from the new SECRET_KEY once that has replaced the old one, and checks go on throughout', async () => {
    const next = 'the key that comes after, which has enough characters';
    const replacing = { SECRET_KEY: next, SECRET_KEY_PREVIOUS: testSecretKey };
    const older = await network.startCoordinatorProcess();
    const newer = await network.startCoordinatorProcess(replacing);
    const probe = await network.addProbe('Oceania');
    const monitor = await addSecretMonitor(newer.url);
    await network.editMonitor(monitor, { interval_s: 1 });
    const before = await keyInUse('Oceania');
    await eventually(async () => (await keyOfBox('Oceania', monitor)) === before);
    const replace = () => createSecretsAtRest(next, testSecretKey).replaceSecretKey(network.sql);
    // One that would be left behind keeps it from beginning.
    await expect(replace()).rejects.toThrow(
      /Coordinators at 127\.0\.0\.1 do not know this SECRET_KEY/,
    );
    expect(await keyOfBox('Oceania', monitor)).toBe(before);
    await older.stop();

    // The database may take a moment to notice that it is gone.
    await eventually(replace);
    const key = deriveNetworkKey(
      next,
      'Oceania',
      sealEpochOf((await readSealing(network.sql)).epochs, 'Oceania'),
    ).id;
    await eventually(async () => (await keyOfBox('Oceania', monitor)) === key);
    await eventually(async () => (await keysOnDisk(probe.made.folder)).join() === key);
    await newer.stop();
    const last = await network.startCoordinatorProcess({ SECRET_KEY: next });
    const from = target.hits.length;
    await eventually(
      () => target.hits.slice(from).filter(({ continent }) => continent === 'Oceania').length > 2,
      40_000,
    );
    expect(new Set(seen)).toEqual(new Set([`Bearer ${secret}`]));
    const later = await addSecretMonitor(last.url);
    expect(await eventually(() => keyOfBox('Oceania', later))).toBe(key);
    await last.stop();
    await probe.close();
  });
});
