import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Api, call, openApi } from '../../../support/api.ts';
import { contractFaults, operationAt } from '../../../support/contract.ts';
import { type HostileRequest, hostileRequest } from '../../../support/hostile.ts';
import { createHouse, type House } from '../../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../../support/services.ts';

let database: TestDatabase;
let api: Api;
let house: House;

beforeAll(async () => {
  database = await createDatabase();
  api = await openApi(database.url);
  house = await createHouse(api.sql);
});

afterAll(async () => {
  await api.close();
  await database.drop();
});

/** What of an answer the document does not describe. An id with a slash in it leads to no route, which no operation describes. */
const faultsOf = async (request: HostileRequest): Promise<readonly string[]> => {
  const { method, url, headers, payload } = request;
  const heard = await call(api, house.member.readWrite, { method, url, headers, ...(payload && { payload }) });
  if (heard.status === 404 && heard.text.includes('route_not_found') && operationAt(method, url) !== request.operationId) return [];
  return contractFaults(request.operationId, heard);
};

it('answers whatever it is sent as the document says, and never with a fault of its own', async () => {
  const owner = house.owner.readWrite;
  const post = async (url: string, payload: object) =>
    (await call(api, owner, { method: 'POST', url, payload })).text.match(/"id":"([^"]+)"/)?.[1];
  const group = await post('/api/v1/groups', { name: 'Fuzz' });
  const monitor = await post('/api/v1/monitors', { type: 'https', target: 'https://example.org/', group });
  const window = await post('/api/v1/maintenance', { starts_at: '2027-01-01', ends_at: '2027-01-02', monitors: [monitor] });
  const page = '019a9c1a-77f1-7a25-8c04-2f6d3b9e1a55';
  await api.sql`insert into status_pages (id, organisation_id, name, slug) values (${page}, ${house.organisation}, 'Fuzz', ${`fuzz-${page}`})`;
  const known = [group, monitor, window, page].filter((id) => id !== undefined);
  expect(known).toHaveLength(4);
  const ids = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: fc.uuid() });
  await fc.assert(
    fc.asyncProperty(hostileRequest(ids), async (request) => {
      expect(await faultsOf(request)).toEqual([]);
    }),
    { numRuns: Number(process.env.FUZZ_RUNS ?? 1500) },
  );
  expect(api.logged).toEqual([]);
}, 120_000);
