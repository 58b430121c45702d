import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { isPassableFor, isRoot, isRunnableFor } from '../../../deploy/local/home.ts';
import { hasBinaries } from '../../support/services.ts';
import {
  createHome,
  isWell,
  removeHome,
  type Service,
  startService,
  stopService,
} from '../service.ts';

const noOne = { uid: 65_534, gid: 65_534 };

describe.runIf(hasBinaries())('npm start, elsewhere', { timeout: 150_000 }, () => {
  const homes: string[] = [];
  const services: Service[] = [];
  const begin = (
    home: string,
    person?: typeof noOne,
    more?: Readonly<Record<string, string>>,
  ): Service => {
    const service = startService(home, person, more);
    homes.push(home);
    services.push(service);
    return service;
  };
  afterEach(async () => {
    await Promise.all(services.splice(0).map(stopService));
    for (const home of homes.splice(0)) await removeHome(home);
  });

  const nobodyCan =
    isRoot &&
    isPassableFor(noOne.uid, import.meta.dirname) &&
    isRunnableFor(noOne.uid, process.execPath);

  test.runIf(nobodyCan)('works for a user without rights', async () => {
    const service = begin(await createHome(noOne), noOne);
    expect(await isWell(await service.ready)).toBe(true);
  });

  test.runIf(isRoot)(
    'works for root below a folder that only root may enter, and says where the data went',
    async () => {
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
    },
  );
});
