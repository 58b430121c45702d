import { beforeAll, describe, expect, test } from 'vitest';
import { hashPassword, verifyPassword } from '../../../coordinator/people/secrets.ts';
import {
  addProbeKey,
  endOldKeys,
  insertProbe,
  revokeProbe,
} from '../../../coordinator/probes/queries.ts';
import {
  createSecretsAtRest,
  growEverySealEpoch,
  pingTokenOf,
  readSealing,
  sealEpochOf,
  secretsOf,
} from '../../../coordinator/secrets/at-rest.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

describe('at rest', async () => {
  const { sql } = await ownDatabase({ name: 'test', connections: 6 });
  let house: TestOrganisation;

  beforeAll(async () => {
    house = await createTestOrganisation(sql);
  });

  const stored = async (id: string): Promise<Buffer> =>
    (await sql<{ secrets: Buffer }[]>`select secrets from monitors where id = ${id}`)[0]?.secrets ??
    Buffer.alloc(0);

  test('a secret opens again, for what it belongs to only, and only with the key of the installation', async () => {
    const secrets = createSecretsAtRest(testSecretKey);
    const id = newId();
    const box = await sql.begin((transaction) =>
      secrets.seal(transaction, 'hunter2', secretsOf(id)),
    );
    expect(box.includes('hunter2')).toBe(false);
    expect(await secrets.open(sql, box, secretsOf(id))).toBe('hunter2');
    expect(await createSecretsAtRest(testSecretKey).open(sql, box, secretsOf(id))).toBe('hunter2');
    await expect(secrets.open(sql, box, secretsOf(newId()))).rejects.toThrow();
    await expect(
      createSecretsAtRest('another key, which is just as long as the first one').open(
        sql,
        box,
        secretsOf(id),
      ),
    ).rejects.toThrow('SECRET_KEY');
    const twice = await sql.begin((transaction) =>
      secrets.seal(transaction, 'hunter2', secretsOf(id)),
    );
    expect(twice.equals(box)).toBe(false);
  });

  test('a rotation puts everything under a new key, also what is written while it runs, and takes the old keys away', async () => {
    const secrets = createSecretsAtRest(testSecretKey);
    const monitors = Array.from({ length: 450 }, () => newId());
    await sql.begin(async (transaction) => {
      for (const id of monitors) {
        const box = await secrets.seal(transaction, `secret of ${id}`, secretsOf(id));
        await transaction`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, secrets)
        values (${id}, ${house.organisation}, 0, 'x', 'https', 'https://example.com', 60, ${box})`;
      }
      const token = await secrets.seal(transaction, 'a beat token', pingTokenOf(monitors[0] ?? ''));
      await transaction`insert into beat_tokens (fingerprint, organisation_id, monitor_id, token)
      values (${Buffer.from([0])}, ${house.organisation}, ${monitors[0] ?? ''}, ${token})`;
    });
    const before = new Map(
      await Promise.all(monitors.map(async (id) => [id, await stored(id)] as const)),
    );

    // Holds the old key while the rotation runs, and writes with it at the very end.
    const late = newId();
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let sealed: () => void = () => undefined;
    const holding = new Promise<void>((resolve) => {
      sealed = resolve;
    });
    const slow = sql.begin(async (transaction) => {
      const box = await secrets.seal(transaction, 'late', secretsOf(late));
      sealed();
      await released;
      await transaction`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, secrets)
      values (${late}, ${house.organisation}, 0, 'x', 'https', 'https://example.com', 60, ${box})`;
    });
    await holding;
    const rotation = createSecretsAtRest(testSecretKey).rotate(sql);
    await expect.poll(async () => (await sql`select 1 from secret_keys`).length).toBe(2);
    release();
    await slow;
    const { id: key, rewritten } = await rotation;

    expect(rewritten).toBeGreaterThanOrEqual(452);
    expect(await sql`select id from secret_keys`).toEqual([{ id: key }]);
    for (const id of monitors) {
      const box = await stored(id);
      expect(box.equals(before.get(id) ?? box)).toBe(false);
      expect(await secrets.open(sql, box, secretsOf(id))).toBe(`secret of ${id}`);
    }
    expect(await secrets.open(sql, await stored(late), secretsOf(late))).toBe('late');
    const [ping] = await sql<{ token: Buffer }[]>`select token from beat_tokens`;
    expect(
      await secrets.open(sql, ping?.token ?? Buffer.alloc(0), pingTokenOf(monitors[0] ?? '')),
    ).toBe('a beat token');
  });

  test('a password is kept as argon2id, recognised, and a wrong or missing one is not', async () => {
    const stored = await hashPassword('correct horse battery');
    expect(stored).toMatch(
      /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
    );
    expect(await hashPassword('correct horse battery')).not.toBe(stored);
    expect(await verifyPassword('correct horse battery', stored)).toBe(true);
    expect(await verifyPassword('correct horse batterx', stored)).toBe(false);
    expect(await verifyPassword('correct horse battery', null)).toBe(false);
    expect(await verifyPassword('', 'none')).toBe(false);
  });
});

describe('seal epochs', async () => {
  const { sql } = await ownDatabase();

  const make = async (
    continent: Continent,
    organisation: string | null = null,
  ): Promise<string> => {
    const id = newId();
    await sql.begin((transaction) =>
      insertProbe(transaction, id, { name: id, continent, organisation, key: newId() }),
    );
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
    const rotate = (key: string, until: number) =>
      sql.begin((transaction) => addProbeKey(transaction, id, () => key, until));
    await rotate('second', 5);
    expect(await epochs('Oceania')).toEqual([1]);
    await Promise.all([endOldKeys(sql, 10), rotate('third', 1_000)]);
    expect((await epochs('Oceania'))[0]).toBeGreaterThan(1);
    const [row] = await sql<
      { keys: { key: string; until: number | null }[] }[]
    >`select keys from probes where id = ${id}`;
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
});
