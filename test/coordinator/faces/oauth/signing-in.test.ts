import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Connections, createConnections } from '../../../../coordinator/access/connections.ts';
import { systemClock } from '../../../../shared/base/clock.ts';
import { createLog } from '../../../../shared/base/log.ts';
import { assistantOf, consent, createBrowser } from '../../../support/assistant-client.ts';
import { testSecretKey } from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

let web: TestWeb;
let connections: Connections;

beforeAll(async () => {
  web = await startWeb();
  connections = createConnections({
    ...{ sql: web.sql, secretKey: testSecretKey, clock: systemClock, log: createLog({ name: 'test', level: 'silent' }) },
    baseUrl: () => web.url,
  });
});
afterAll(async () => {
  await connections.close();
  await web.close();
});

test('a stranger’s program comes from nothing but the address to a token, by way of a person who says yes', async () => {
  const assistant = assistantOf(web.url, { name: 'Claude' });
  const to = await assistant.begin();
  const returned = await consent(createBrowser(web, web.house.owner), to, { organisation_id: web.house.organisation, scope: 'read_write' });
  expect(returned.origin + returned.pathname).toBe('http://127.0.0.1:33418/callback');
  expect(returned.searchParams.get('iss')).toBe(web.url);
  expect(returned.searchParams.get('state')).toBe('a-state');
  const tokens = await assistant.end(returned);
  expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'read write' });
  expect(await connections.callerOf(tokens.access_token)).toMatchObject({
    is: 'connector',
    user: web.house.owner.user,
    organisation: { id: web.house.organisation },
    role: 'owner',
    scope: 'read_write',
    connection: { client: 'Claude' },
  });
});
