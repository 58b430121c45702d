import { newId } from '../../shared/base/crypto.ts';
import { eventually, passed } from '../support/eventually.ts';
import { openReceiver } from '../support/receivers.ts';
import { storedChecks } from '../support/stored-checks.ts';
import type { Bench, Figure } from './figure.ts';
import { type Rig, startRig } from './scale/rig.ts';

/**
 * The worst minute: every monitor of an organisation fails at once and comes back at once, while
 * another organisation has nothing to do with it. All parts run on two cores.
 */

const failing = 10_000;
const interval_s = 60;
const others = 500;
const othersInterval_s = 10;
const continents = ['Asia', 'Europe', 'North America'] as const;
const usualWindowMs = 120_000;

/** When the database first had each incident as confirmed, and as resolved. */
const watchIncidents = async ({ sql }: Rig): Promise<void> => {
  await sql.unsafe(`
    create table seen (incident uuid, what text, at timestamptz, primary key (incident, what));
    create function see() returns trigger language plpgsql as $$ begin
      insert into seen
        select id, 'confirmed', clock_timestamp() from changed where confirmed_at is not null
        union all select id, 'resolved', clock_timestamp() from changed where resolved_at is not null
        on conflict do nothing;
      return null;
    end $$;
    create trigger see_opened after insert on incidents referencing new table as changed
      for each statement execute function see();
    create trigger see_changed after update on incidents referencing new table as changed
      for each statement execute function see()`);
};

type Delays = { readonly count: number; readonly p95: number; readonly most: number };

/** From the start of the check that saw it first, in seconds, of outages that began after `since`. */
const delaysOf = async (
  { sql }: Rig,
  what: 'confirmed' | 'resolved',
  since = 0,
): Promise<Delays> => {
  const [row] = await sql<Delays[]>`
    select count(*)::int as count, coalesce(percentile_cont(0.95) within group (order by s), 0) as p95,
      coalesce(max(s), 0) as most
    from (select extract(epoch from n.at - case when n.what = 'confirmed' then i.started_at
        else i.resolved_at end)::float8 as s
      from seen n join incidents i on i.id = n.incident
      where n.what = ${what} and i.confirmed_at is not null
        and i.started_at >= ${new Date(since)}) d`;
  if (!row) throw new Error('no figures');
  return row;
};

export const storm: Bench = {
  name: 'storm',
  about: `${failing} of ${failing} monitors fail at once and come back, beside ${others} that do not; then again while a coordinator is killed (12 min)`,
  onlyByName: true,
  run: async (say, { windowMs = usualWindowMs } = {}) => {
    const rig = await startRig(
      [
        { count: failing, interval_s, target: 'breakable' },
        { count: others, interval_s: othersInterval_s, target: 'well', own: true },
      ],
      continents,
      say,
      240_000,
      {},
      null,
    );
    const receiver = await openReceiver();
    try {
      await watchIncidents(rig);
      await rig.sql`
        insert into channels (id, organisation_id, kind, name, config, verified_at)
        values (${newId()}, ${rig.network.organisation}, 'mattermost', 'Chat',
          ${JSON.stringify({ url: receiver.url })}::text::jsonb, now())`;
      /** Checks of the others in so many milliseconds, and the CPU of all parts meanwhile. */
      const watch = async (ms: number) => {
        const [from, before] = [Date.now(), await rig.cpu()];
        await passed(ms);
        const [until, after] = [Date.now(), await rig.cpu()];
        const cpu = Object.values(after).reduce((sum, one) => sum + one, 0);
        const used = cpu - Object.values(before).reduce((sum, one) => sum + one, 0);
        return { from, until, cores: used / (until - from) };
      };
      const turnsOfOthers = async ({ from, until }: { from: number; until: number }) => {
        const ids = await rig.sql<{ id: string }[]>`
          select id from monitors where organisation_id <> ${rig.network.organisation}`;
        const own = new Set(ids.map(({ id }) => id));
        const checks = await storedChecks(rig.sql, { since: from });
        return checks.filter(({ monitor, at }) => own.has(monitor) && at < until).length;
      };
      say('a healthy minute');
      await passed(interval_s * 1_000);
      const calm = await watch(interval_s * 1_000);
      say('all fail');
      rig.breakTarget();
      const first = await watch(interval_s * 1_000);
      say('they still fail');
      const second = await watch(windowMs);
      await eventually(
        async () => (await delaysOf(rig, 'confirmed')).count >= failing,
        300_000,
        500,
      );
      const down = await delaysOf(rig, 'confirmed');
      const messagesDown = receiver.got.length;
      const memory = await rig.memory();
      say('they come back');
      rig.mendTarget();
      const back = await watch(interval_s * 1_000);
      await eventually(
        async () => (await delaysOf(rig, 'resolved')).count >= failing,
        300_000,
        500,
      );
      const up = await delaysOf(rig, 'resolved');
      await passed(150_000);
      const messages = receiver.got.length;
      const turns = await turnsOfOthers({ from: calm.from, until: back.until });
      const wanted = ((back.until - calm.from) / 1_000 / othersInterval_s) * others;
      say('all fail again, and a coordinator is killed');
      const other = await rig.startAnother();
      await other.joined;
      await passed(20_000);
      const again = Date.now();
      rig.breakTarget();
      await passed((interval_s / 3) * 1_000);
      process.kill(rig.coordinator.pid, 'SIGKILL');
      await eventually(
        async () => (await delaysOf(rig, 'confirmed', again)).count >= failing,
        300_000,
        500,
      );
      const killed = await delaysOf(rig, 'confirmed', again);
      const seconds = (what: string, ours: number, most: number): Figure => ({
        what,
        ours: `${ours.toFixed(1)} s`,
        against: `${most} s`,
        ratio: ours / most,
        goal: '≤ 1.00 ×',
        holds: ours <= most,
      });
      const plain = (what: string, ours: string, goal: string, holds: boolean | null): Figure => ({
        ...{ what, ours, against: '–', ratio: null, goal, holds },
      });
      const cpu = (what: string, { cores: used }: { cores: number }): Figure => ({
        what,
        ours: `${used.toFixed(2)} cores`,
        against: `healthy ${calm.cores.toFixed(2)} cores`,
        ratio: used / calm.cores,
        goal: '–',
        holds: null,
      });
      return [
        seconds(`${failing} of ${failing} fail: confirmed, 95th percentile`, down.p95, 5),
        plain('the slowest', `${down.most.toFixed(1)} s`, '–', null),
        seconds('they come back: resolved, 95th percentile', up.p95, 5),
        plain('messages of a channel, down', `${messagesDown}`, '≤ 4', messagesDown <= 4),
        plain(
          'messages of a channel, up',
          `${messages - messagesDown}`,
          '1 to 4',
          messages > messagesDown && messages - messagesDown <= 4,
        ),
        plain(
          'turns of others',
          `${turns} of ${wanted.toFixed(0)}`,
          '≥ 99 %',
          turns >= 0.99 * wanted,
        ),
        cpu('CPU in the minute in which they fail', first),
        cpu('CPU afterwards, while they fail', second),
        cpu('CPU in the minute in which they come back', back),
        plain(
          'memory of coordinator and probes',
          `${memory.coordinator.toFixed(0)} and ${memory.probes.toFixed(0)} MiB`,
          '–',
          null,
        ),
        seconds('with a coordinator killed: confirmed, 95th percentile', killed.p95, 20),
        plain('the slowest of these', `${killed.most.toFixed(1)} s`, '–', null),
      ];
    } finally {
      await receiver.close();
      await rig.close();
    }
  },
};
