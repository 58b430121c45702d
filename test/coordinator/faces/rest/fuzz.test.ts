import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { restOperations } from '../../../../shared/api/index.ts';
import { newId } from '../../../../shared/base/ids.ts';
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

/** Ids that stand in a request for things that exist: they are put in when it is sent, because requests delete what they name. */
const standIns = {
  group: '00000000-0000-7000-8000-000000000001',
  otherGroup: '00000000-0000-7000-8000-000000000002',
  monitor: '00000000-0000-7000-8000-000000000003',
  otherMonitor: '00000000-0000-7000-8000-000000000004',
  window: '00000000-0000-7000-8000-000000000005',
  page: '00000000-0000-7000-8000-000000000006',
  incident: '00000000-0000-7000-8000-000000000007',
} as const;

type World = Readonly<Record<keyof typeof standIns, string>>;

const idOf = (body: unknown): string => {
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string') return body.id;
  throw new Error(`what the fuzz run needs could not be made: ${JSON.stringify(body)}`);
};

const createWorld = async (): Promise<World> => {
  const post = async (url: string, payload: object) =>
    idOf((await call(api, house.owner.readWrite, { method: 'POST', url, payload })).body);
  const page = newId();
  await api.sql`insert into status_pages (id, organisation_id, name, slug) values (${page}, ${house.organisation}, 'Fuzz', ${`fuzz-${page}`})`;
  const group = await post('/api/v1/groups', { name: 'Fuzz' });
  const otherGroup = await post('/api/v1/groups', { name: `Fuzz ${page}` });
  const monitor = await post('/api/v1/monitors', { type: 'https', target: 'https://example.org/', group });
  const otherMonitor = await post('/api/v1/monitors', { type: 'heartbeat', name: 'Fuzz' });
  const window = await post('/api/v1/maintenance', { starts_at: '2027-01-01', ends_at: '2027-01-02', monitors: [monitor] });
  await call(api, house.owner.readWrite, { method: 'POST', url: `/api/v1/status-pages/${page}/groups`, payload: { group } });
  const incident = newId();
  await api.sql`insert into incidents (id, organisation_id, monitor_id, started_at, seen_probe, seen_continent)
    values (${incident}, ${house.organisation}, ${monitor}, now(), 'probe-Europe', 'Europe')`;
  return { group, otherGroup, monitor, otherMonitor, window, page, incident };
};

const { group, otherGroup, monitor, otherMonitor, window, page, incident } = standIns;

const idsFor = (name: string): fc.Arbitrary<string> => {
  const fitting = name.startsWith('monitor')
    ? [monitor, otherMonitor]
    : name.startsWith('group')
      ? [group, otherGroup]
      : name.startsWith('window')
        ? [window]
        : name.startsWith('page')
          ? [page]
          : [incident];
  return fc.oneof(
    { weight: 16, arbitrary: fc.constantFrom(...fitting) },
    { weight: 1, arbitrary: fc.constantFrom(...Object.values(standIns)) },
    { weight: 1, arbitrary: fc.uuid() },
  );
};

const inWorld = (text: string, world: World): string =>
  Object.entries(world).reduce(
    (changed, [name, id]) => changed.replaceAll(Object.entries(standIns).find(([key]) => key === name)?.[1] ?? '', id),
    text,
  );

it('answers whatever it is sent as the document says, and never with a fault of its own', async () => {
  let world = await createWorld();
  const answered = new Map<string, number>();
  const faultsOf = async ({ method, operationId, url, headers, payload }: HostileRequest): Promise<readonly string[]> => {
    const options = {
      method,
      url: inWorld(url, world),
      headers,
      ...(payload && { payload: Buffer.from(inWorld(payload.toString('latin1'), world), 'latin1') }),
    };
    const heard = await call(api, house.member.readWrite, options);
    const outcome = `${operationId} ${heard.status}`;
    answered.set(outcome, (answered.get(outcome) ?? 0) + 1);
    if (heard.status === 204) world = await createWorld();
    // An id with a slash in it leads to no route, which no operation describes.
    if (heard.status === 404 && heard.text.includes('route_not_found') && operationAt(method, url) !== operationId) return [];
    return contractFaults(operationId, heard);
  };
  await fc.assert(
    fc.asyncProperty(hostileRequest(idsFor), async (request) => {
      expect(await faultsOf(request)).toEqual([]);
    }),
    { numRuns: Number(process.env.FUZZ_RUNS ?? 2000) },
  );
  expect(api.logged).toEqual([]);
  if (process.env.FUZZ_SHOW) process.stderr.write(`${[...answered].toSorted().join('\n')}\n`);
  // A run that never got past the form of a request would prove little: nearly every operation has been done, too.
  const done = restOperations.filter(({ id }) => [200, 201, 204].some((status) => answered.has(`${id} ${status}`)));
  expect(done.length).toBeGreaterThan(restOperations.length - 5);
}, 300_000);
