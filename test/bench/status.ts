import { execFileSync } from 'node:child_process';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { migrate } from '../../coordinator/database/migrate.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createTcpProxy } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import { createNetwork } from '../support/network.ts';
import { startServices } from '../support/services-run.ts';
import { answersWith } from './api/load.ts';
import { type Bench, type Figure, median } from './figure.ts';
import { cores, cpuOf, find } from './processes.ts';
import { changesUnderLoad } from './status-changes.ts';

/**
 * A public page of fifty services as a whole coordinator answers it, while connected to the
 * database and while it is not; and how soon a page shows what goes down and comes back while it is
 * read 5,000 times a second.
 */

const goal = 5_000;
const connections = 50;
const services = 50;
const rounds = 5;
const roundMs = 3_000;
const maxBytes = 20 * 1024;
const header = 'Accept-Encoding: br';

/** Fifty monitors of half a year, each of which was down now and then. */
const seed = async (sql: Sql, organisation: string): Promise<void> => {
  const page = newId();
  await sql`insert into status_pages (id, organisation_id, name, slug) values (${page}, ${organisation}, 'Shop status', 'shop')`;
  await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, created_at, enabled, paused_at)
    select gen_random_uuid(), ${organisation}, n % 32, 'monitor ' || n, 'https', 'https://shop.example/' || n, 3600, now() - interval '180 days', true, null
    from generate_series(1, ${services}) n`;
  await sql`insert into status_page_monitors (page_id, monitor_id, display_name, position)
    select ${page}, id, 'Service ' || key, key from monitors where organisation_id = ${organisation}`;
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
    select gen_random_uuid(), ${organisation}, m.id, b.at, b.at + interval '1 second', b.at + interval '9 minutes'
    from monitors m cross join lateral (
      select now() - make_interval(days => n * 7 + (m.key % 7)::int, hours => 2) as at from generate_series(0, 11) n) b
    where m.organisation_id = ${organisation}`;
  await sql`analyze`;
};

const pin = (pid: number): void => {
  if (find('taskset')) execFileSync('taskset', ['-a', '-cp', String(cores.subject), String(pid)]);
};

export const status: Bench = {
  name: 'status',
  about:
    'a public page of fifty services, also while the database is away; how soon it shows a change under 5,000 readers a second',
  run: async (say, { windowMs = roundMs } = {}) => {
    const running = await startServices(async (url) => {
      const sql = connect(url, { name: 'bench-template', connections: 1 });
      await migrate(sql).finally(() => sql.end());
    });
    const network = await createNetwork({ services: running.services });
    const relay = await createTcpProxy(network.database.url);
    try {
      say('a coordinator');
      await seed(network.sql, network.organisation);
      const { url, pid } = await network.startCoordinatorProcess({ DATABASE_URL: relay.url });
      pin(pid);
      const page = new URL('/status/shop', url);
      const first = await fetch(page, { headers: { 'accept-encoding': 'br' } });
      const bytes = Number(first.headers.get('content-length'));
      const style = /href="([^"]*\.css)"/.exec(await first.text())?.[1] ?? '/';
      const styleBytes = Number(
        (await fetch(new URL(style, url), { headers: { 'accept-encoding': 'br' } })).headers.get(
          'content-length',
        ),
      );
      /**
       * What one core answers in a second: by the time that the coordinator used, so that others on
       * the machine change nothing.
       */
      const perSecond = async (
        what: string,
      ): Promise<{ readonly ofCore: number; readonly seen: number }> => {
        const [ofCore, seen]: [number[], number[]] = [[], []];
        for (let round = 0; round <= rounds; round += 1) {
          say(`${what}: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`);
          const [began, used] = [performance.now(), cpuOf(pid)];
          const rate = await answersWith(page, header, connections, windowMs);
          if (round === 0) continue;
          seen.push(rate);
          ofCore.push((rate * (performance.now() - began)) / (cpuOf(pid) - used));
        }
        return { ofCore: median(ofCore), seen: median(seen) };
      };
      const there = await perSecond('with its database');
      relay.cut();
      say('until it says that its figures are old');
      await eventually(async () =>
        (await (await fetch(page)).text()).includes('Newer data is not available'),
      );
      const away = await perSecond('without its database');
      const rate = (
        what: string,
        { ofCore: value, seen }: { readonly ofCore: number; readonly seen: number },
      ): Figure => ({
        what: `${what} (${seen.toFixed(0)}/s here)`,
        ours: `${value.toFixed(0)} pages/s of a core`,
        against: `${goal} pages/s on one core`,
        ratio: value / goal,
        goal: '≥ 1.00 ×',
        holds: value >= goal,
      });
      const weight = bytes + styleBytes;
      const changes = await changesUnderLoad(say, running.services);
      return [
        rate(`page of ${services} services, while its monitors are decided`, there),
        rate(`page of ${services} services, while the database is away`, away),
        {
          what: 'bytes of a first visit, with the style',
          ours: `${(weight / 1024).toFixed(1)} KB`,
          against: `${maxBytes / 1024} KB`,
          ratio: weight / maxBytes,
          goal: '≤ 1.00 ×',
          holds: weight <= maxBytes,
        },
        ...changes,
      ];
    } finally {
      await network.close();
      await relay.close();
      await running.stop();
    }
  },
};
