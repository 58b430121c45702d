import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { isPassableFor, isRoot, isRunnableFor } from '../../../deploy/local/home.ts';
import { hasBinaries } from '../../support/services.ts';
import { createHome, isWell, removeHome, type Service, startService, stopService } from '../service.ts';

const noOne = { uid: 65_534, gid: 65_534 };

describe.runIf(hasBinaries())('npm start, elsewhere', { timeout: 150_000 }, () => {
  const homes: string[] = [];
  const services: Service[] = [];
  const begin = (home: string, person?: typeof noOne, more?: Readonly<Record<string, string>>): Service => {
    const service = startService(home, person, more);
    homes.push(home);
    services.push(service);
    return service;
  };
  afterEach(async () => {
    await Promise.all(services.splice(0).map(stopService));
    for (const home of homes.splice(0)) await removeHome(home);
  });

  const nobodyCan = isRoot && isPassableFor(noOne.uid, import.meta.dirname) && isRunnableFor(noOne.uid, process.execPath);

  test('is quick the first time and the second because every program finds what one of them compiled', async () => {
    const home = await createHome();
    const expectCompiled = async (starts: number): Promise<void> => {
      for (const part of ['coordinator', 'Frankfurt', 'Virginia', 'Singapore']) {
        const log = await readFile(join(home, 'logs', `${part}.log`), 'utf8');
        const words = [/ was accepted/g, / was rejected/g, / was not initialized/g];
        const [found = 0, rejected, missed] = words.map((word) => [...log.matchAll(word)].length);
        expect(found, part).toBeGreaterThan(150 * starts);
        expect(rejected, part).toBe(0);
        // A library may load a file of its own only when it is at work.
        expect(missed, part).toBeLessThan(5);
      }
    };
    for (const starts of [1, 2]) {
      const service = begin(home, undefined, { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' });
      await service.ready;
      await expectCompiled(starts);
      await stopService(service);
    }
  });

  test.runIf(nobodyCan)('works for a user without rights', async () => {
    const service = begin(await createHome(noOne), noOne);
    expect(await isWell(await service.ready)).toBe(true);
  });

  test.runIf(isRoot)('works for root below a folder that only root may enter, and says where the data went', async () => {
    const closed = await mkdtemp(join(tmpdir(), 'antipode-closed-'));
    try {
      const home = await createHome(undefined, closed);
      const service = begin(home);
      expect(await isWell(await service.ready)).toBe(true);
      expect(service.said()).toMatch(/its data is in \/var\/lib\/antipode\/postgres-/);
    } finally {
      await Promise.all(services.splice(0).map(stopService));
      for (const home of homes.splice(0)) await removeHome(home);
      await rm(closed, { recursive: true, force: true });
    }
  });
});
