import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createApp } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { createLog } from '../../shared/base/log.ts';
import { createAccount, createDatabase, environmentOf } from '../support/services.ts';

test('a coordinator whose address it cannot have says which variable is wrong, and leaves nothing behind', async () => {
  const database = await createDatabase();
  const environment = { ...environmentOf(database, await createAccount()), SECRET_KEY: 'a key with more than enough characters' };
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  const taken = typeof address === 'object' && address !== null ? address.port : 0;
  const log = createLog({ name: 'test', level: 'silent' });
  const fault = async (where: Record<string, string>): Promise<unknown> => {
    const app = createApp(readConfig({ ...environment, ...where }), { log });
    const said: unknown = await app.start().catch((error: unknown) => error);
    await app.close();
    return said;
  };

  const [inUse, elsewhere] = [await fault({ PORT: String(taken) }), await fault({ PORT: '0', HOST: '192.0.2.1' })];
  for (const said of [inUse, elsewhere]) expect(said).toBeInstanceOf(ConfigurationFault);
  expect(inUse).toMatchObject({ message: expect.stringContaining(`port ${taken} is taken`) });
  expect(elsewhere).toMatchObject({ message: expect.stringContaining('HOST=192.0.2.1 is no address of this machine') });
  other.close();
  await database.drop();
});
