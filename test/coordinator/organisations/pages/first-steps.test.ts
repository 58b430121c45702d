import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMonitor } from '../../../../shared/api/monitors.ts';
import { rawInput } from '../../../../shared/api/operation.ts';
import { createTestOrganisation } from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

let web: TestWeb;

beforeAll(async () => {
  web = await startWeb();
});
afterAll(() => web.close());

/** What is left to do, as the dashboard of this person links it; undefined: no list. */
const left = async (as = web.house.owner): Promise<readonly string[] | undefined> => {
  const { text } = await web.get('/', { as });
  const [list] =
    /<section class="card settings lines" id="first-steps"[\s\S]*?<\/section>/.exec(text) ?? [];
  return list === undefined
    ? undefined
    : [...list.matchAll(/<a class="button" href="([^"]+)"/g)].map(([, href = '']) => href);
};

test('lists what is left until all is done, or until it is hidden', async () => {
  const channel = (verdict: string) =>
    web.sql`insert into audit_log (at, organisation_id, who, through, operation, changed)
      values (now(), ${web.house.organisation}, 'x', 'page', 'testChannel',
        ${JSON.stringify({ about: {}, after: { verdict } })}::text::jsonb)`;
  const probe = (continent: string) =>
    web.sql`insert into probes (id, name, continent, last_seen_at)
      values (gen_random_uuid(), ${continent}, ${continent}, now())`;
  await probe('Europe');
  expect(await left()).toEqual(['/monitors/new', '/alerts', '/probes']);
  await web.gate.execute(
    createMonitor,
    web.house.owner.caller,
    rawInput(createMonitor, { type: 'https', target: 'https://shop.example/' }),
  );
  expect(await left()).toEqual(['/alerts', '/probes']);
  await channel('refused');
  expect(await left()).toEqual(['/alerts', '/probes']);
  expect(await left(web.house.viewer)).toBeUndefined();
  await channel('delivered');
  await probe('Asia');
  expect(await left()).toBeUndefined();
  const other = await createTestOrganisation(web.sql);
  expect(await left(other.owner)).toEqual(['/monitors/new', '/alerts']);
  const hidden = await web.send('/first-steps/hide', {}, other.owner);
  expect(hidden.status).toBe(303);
  expect(await left(other.owner)).toBeUndefined();
});
