import { expect, test } from 'vitest';
import { addProbeKey, endOldKeys, insertProbe, revokeProbe } from '../../../coordinator/probes/queries.ts';
import { growEverySealEpoch, readSealing, sealEpochOf } from '../../../coordinator/secrets/keys.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();

const make = async (continent: Continent, organisation: string | null = null): Promise<string> => {
  const id = newId();
  await sql.begin((transaction) => insertProbe(transaction, id, { name: id, continent, organisation, key: newId() }));
  return id;
};
const epochs = async (...places: readonly string[]): Promise<number[]> => {
  const read = (await readSealing(sql)).epochs;
  return places.map((place) => sealEpochOf(read, place));
};

test('the epoch of a place grows with every revocation there, and no other does', async () => {
  const [first, second, other] = [
    await make('Europe'),
    await make('Europe'),
    await make('Europe', (await createTestOrganisation(sql)).organisation),
  ];
  expect(await epochs('Europe', 'Asia', other)).toEqual([1, 1, 1]);
  await sql.begin((transaction) => revokeProbe(transaction, first));
  const [once = 0, ...still] = await epochs('Europe', 'Asia', other);
  expect([once > 1, ...still]).toEqual([true, 1, 1]);
  await sql.begin((transaction) => revokeProbe(transaction, second));
  const [twice = 0] = await epochs('Europe');
  expect(twice).toBeGreaterThan(once);
  await sql.begin((transaction) => revokeProbe(transaction, other));
  expect((await epochs(other))[0]).toBeGreaterThan(1);
  expect(await epochs('Europe')).toEqual([twice]);
});

test('a revocation that is rolled back leaves the epoch as it was', async () => {
  const id = await make('Africa');
  const failing = sql.begin(async (transaction) => {
    await revokeProbe(transaction, id);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await epochs('Africa')).toEqual([1]);
});

test('the epoch grows when rotated-out credentials end, and a rotation at the same moment loses no key', async () => {
  const id = await make('Oceania');
  const rotate = (key: string, until: number) => sql.begin((transaction) => addProbeKey(transaction, id, () => key, until));
  await rotate('second', 5);
  expect(await epochs('Oceania')).toEqual([1]);
  await Promise.all([endOldKeys(sql, 10), rotate('third', 1_000)]);
  expect((await epochs('Oceania'))[0]).toBeGreaterThan(1);
  const [row] = await sql<{ keys: { key: string; until: number | null }[] }[]>`select keys from probes where id = ${id}`;
  expect(row?.keys).toEqual([
    { key: 'second', until: 1_000 },
    { key: 'third', until: null },
  ]);
});

test('a restored database makes every epoch grow, also of places that it knows nothing of', async () => {
  const before = await epochs('Europe', 'Antarctica');
  await growEverySealEpoch(sql);
  const after = await epochs('Europe', 'Antarctica');
  expect(after.every((epoch, at) => epoch > (before[at] ?? 0))).toBe(true);
});
