import { expect, test } from 'vitest';
import { createApp } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { createLog } from '../../shared/base/log.ts';
import { createTestOrganisation, testSecretKey } from '../support/people.ts';
import { createAccount, environmentOf, ownDatabase } from '../support/services.ts';

const { database, sql } = await ownDatabase({ name: 'counting', connections: 2 });

test('a coordinator never has more connections to the database than it may, whatever it is asked, and five fit a default Postgres', async () => {
  const house = await createTestOrganisation(sql);
  const environment = { ...environmentOf(database, await createAccount()), SECRET_KEY: testSecretKey, PORT: '0' };
  const usual = readConfig(environment).DATABASE_CONNECTIONS;
  // Of 100 connections three are the superuser's; some are left for the operator.
  expect(5 * usual).toBeLessThan(97 - 5);
  const app = createApp(readConfig({ ...environment, DATABASE_CONNECTIONS: '12', RATE_LIMIT_PER_MINUTE: '100000' }), {
    log: createLog({ name: 'test', level: 'silent' }),
  });
  const { url } = await app.start();
  let most = 0;
  for (let round = 0; round < 5; round += 1) {
    const headers = { authorization: `Bearer ${house.owner.readWrite}` };
    const asked = Promise.all(Array.from({ length: 60 }, () => fetch(`${url}/api/v1/monitors`, { headers })));
    const [row] = await sql<{ count: number }[]>`
      select count(*) from pg_stat_activity where datname = current_database() and application_name <> 'counting'`;
    most = Math.max(most, row?.count ?? 0);
    for (const answer of await asked) expect(answer.status).toBe(200);
  }
  await app.close();
  expect(most).toBeGreaterThan(5);
  expect(most).toBeLessThanOrEqual(12);
});
