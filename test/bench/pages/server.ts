import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Sql } from '../../../coordinator/database/connect.ts';
import { keepHeapSmall } from '../../../shared/base/process.ts';
import type { Services } from '../../support/services-run.ts';

/**
 * The pages as the coordinator serves them, with its flags, in a process of its own: what a visitor
 * allocates and computes is not the server's time. Seeds an organisation for each of SIZES, says
 * its address and the cookie of each owner on standard output, and serves until standard input
 * ends. To each line of it, it answers with the milliseconds that each request took since the last,
 * from its arrival until its answer was handed to the system.
 */

const began = new WeakMap<object, number>();
let took: number[] = [];
/** What both channels publish, as far as it is read. */
const requestOf = (message: unknown): object => {
  if (typeof message === 'object' && message && 'request' in message)
    if (typeof message.request === 'object' && message.request) return message.request;
  throw new Error('Node told of a request without it');
};
subscribe('http.server.request.start', (message) => {
  began.set(requestOf(message), performance.now());
});
subscribe('http.server.response.finish', (message) => {
  took.push(performance.now() - (began.get(requestOf(message)) ?? Number.NaN));
});

/** So many at once: each statement has a deadline. */
const portion = 5_000;

/**
 * A fleet as one would have it: twenty groups, three continents, a day of rollups for the first
 * page, and some that are down.
 */
const seedFleet = async (sql: Sql, organisation: string, count: number): Promise<void> => {
  await sql`insert into groups (id, organisation_id, name, name_folded)
    select gen_random_uuid(), ${organisation}, 'Group ' || n, 'group ' || n from generate_series(1, 20) n`;
  for (let from = 1; from <= count; from += portion)
    await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, created_at, group_id)
    select gen_random_uuid(), ${organisation}::uuid, n % 32, 'Monitor ' || n, 'https', 'https://shop-' || n || '.example/', 60, now() - interval '40 days',
      (select id from groups where organisation_id = ${organisation} and name = 'Group ' || (1 + n % 20))
    from generate_series(${from}::int, ${from + portion - 1}::int) n`;
  for (let from = 0; from < count; from += portion)
    await sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
      select id, 'unknown', created_at, created_at + interval '3 seconds', 60 from monitors where organisation_id = ${organisation}
      order by key limit ${portion} offset ${from}`;
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_probe, seen_continent, scope, layer)
    select gen_random_uuid(), ${organisation}, id, now() - interval '5 minutes', now() - interval '4 minutes', 'Frankfurt', 'Europe', 'everywhere', 'http'
    from monitors where organisation_id = ${organisation} order by key limit 10`;
  // One for each monitor, all within the days that the list of incidents shows at first.
  for (let from = 0; from < count; from += portion)
    await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent, scope, layer)
      select gen_random_uuid(), ${organisation}, id, at, at, at + interval '1 minute', 'Frankfurt', 'Europe', 'everywhere', 'http'
      from (select id, now() - interval '1 day' - (key % 25) * interval '1 day' as at from monitors
        where organisation_id = ${organisation} order by key limit ${portion} offset ${from}) m`;
  await sql`insert into rollups (monitor_key, continent, hour, ok, failed, unknown, took_sum, took_min, took_max)
    select key, c, date_trunc('hour', now()) - h * interval '1 hour', 60, 0, 0, 6000, 80, 140
    from (select key from monitors where organisation_id = ${organisation} order by key limit 2000) m,
      unnest(array['Europe', 'Asia', 'Africa']) c, generate_series(1, 24) h`;
};

keepHeapSmall({ youngGrows: true });
// V8 rejects cached code that was compiled under other flags.
const [{ makeResultDays }, { createTestOrganisation }, { startWeb }] = await Promise.all([
  import('../../../coordinator/results/table.ts'),
  import('../../support/people.ts'),
  import('../../support/web.ts'),
]);
const { SERVICES = '', SIZES = '' } = process.env;
const services: Services = JSON.parse(SERVICES);
const web = await startWeb({ services });
await makeResultDays(web.sql, Date.now() - 86_400_000, Date.now() + 86_400_000);
const cookies: string[] = [];
for (const size of SIZES.split(',')) {
  const { organisation, owner } = await createTestOrganisation(web.sql);
  await seedFleet(web.sql, organisation, Number(size));
  cookies.push(await web.cookieOf(owner));
}
await web.sql`vacuum analyze`;
process.stdout.write(`${[web.url, ...cookies].join(' ')}\n`);
const asked = createInterface(process.stdin);
asked.on('line', () => {
  process.stdout.write(`${JSON.stringify(took)}\n`);
  took = [];
});
await once(asked, 'close');
await web.close();
process.exit(0);
