import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Continent } from '../../shared/base/continents.ts';
import { mint, mintAuthority } from '../support/certificates.ts';
import { eventually, passed } from '../support/eventually.ts';
import { incidentThat, isConfirmed, isResolved, seenFrom } from '../support/monitors.ts';
import { answerTo, startResolver } from '../support/name-servers.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { startChildProgram } from '../support/processes.ts';
import { type Answer, broken, fine, type Target } from '../support/targets.ts';

/**
 * Two of three places are sick in the same way: they share a broken middlebox, a hole, a resolver
 * that lies, or an image without an authority. Each probe is a process with names of its own. No
 * site that the third place sees well is called down; one that all see fail is.
 *
 * `SICK_SECONDS=40` lets each sickness last as long.
 */
const lastsMs = 1_000 * Number(process.env.SICK_SECONDS ?? 8);
const sick: readonly Continent[] = ['Asia', 'Europe'];
const well: Continent = 'Africa';
const sites = 4;
/** Nobody listens there. */
const nowhere = '127.0.9.9';

const isRoot = process.getuid?.() === 0;
if (!isRoot)
  process.stderr.write(
    'SKIPPED: sick places. Only root may give a process a resolver of its own.\n',
  );

test.runIf(isRoot)(
  'two sick places call no site down, however they are sick',
  async ({ onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-sick-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const network = await createNetwork();
    onTestFinished(network.close);
    await network.startCoordinator();
    let says: 'truth' | 'nxdomain' | 'wrong address' = 'truth';
    const honest = await resolverAt('127.0.53.1', () => 'truth');
    const shared = await resolverAt('127.0.53.2', () => says);
    for (const { close } of [honest, shared]) onTestFinished(close);
    const authority = mintAuthority('authority of the test');
    await writeFile(join(folder, 'authority.pem'), authority.certificate);
    let standStill = (_: boolean): void => undefined;
    for (const continent of [...sick, well]) {
      const isSick = continent !== well;
      const probe = await startProbeProcess(network, continent, {
        resolver: isSick ? '127.0.53.2' : '127.0.53.1',
        ...(isSick ? {} : { authorities: join(folder, 'authority.pem') }),
      });
      onTestFinished(probe.end);
      if (!isSick) standStill = probe.standStill;
    }
    const watch = async (certified: boolean) => {
      const targets: Target[] = [];
      const monitors: string[] = [];
      for (let count = 0; count < sites; count += 1) {
        const name = `${certified ? 'secure' : 'plain'}-${count}.test`;
        const target = await network.startTarget({
          host: addressOf(name),
          ...(certified ? { certificate: mint({ names: [name], issuer: authority }) } : {}),
        });
        targets.push(target);
        monitors.push(
          await network.addMonitor({
            target: `${certified ? 'https' : 'http'}://${name}:${target.port}/`,
            interval_s: 1,
            // All targets are in this process: on a full machine it is slow, and not gone.
            config: { timeout_ms: 2_000 },
          }),
        );
      }
      return { targets, monitors };
    };
    const { targets, monitors } = await watch(false);
    const areWell = async (): Promise<void> => {
      for (const monitor of monitors) await seenFrom(network.sql, monitor, 3);
      await eventually(async () => {
        const [row] = await network.sql<{ open: number; quarantined: number }[]>`
          select (select count(*) from incidents where resolved_at is null)::int as open,
            (select count(*) from probes where quarantined_at is not null)::int as quarantined`;
        return row?.open === 0 && row.quarantined === 0;
      }, 90_000);
    };
    const nobodyIsDown = async (why: string): Promise<void> => {
      const rows = await network.sql<{ count: number; confirmed: number }[]>`
        select count(*)::int as count, count(confirmed_at)::int as confirmed from incidents`;
      expect(rows[0]?.confirmed, why).toBe(0);
    };
    const answerSick = (answer: Answer): void => {
      for (const target of targets) target.answer(answer, sick);
    };
    const sicknesses: readonly (readonly [string, () => void, () => void])[] = [
      ['a middlebox answers 503', () => answerSick(broken), () => answerSick(fine)],
      [
        'long answers fall into a hole',
        () =>
          answerSick({
            is: 'by',
            answer: (_, response) => void response.writeHead(200).write('x'.repeat(500)),
          }),
        () => answerSick(fine),
      ],
      ['their resolver knows no name', () => (says = 'nxdomain'), () => (says = 'truth')],
      [
        'their resolver gives a wrong address',
        () => (says = 'wrong address'),
        () => (says = 'truth'),
      ],
    ];
    await areWell();
    for (const [why, begin, end] of sicknesses) {
      begin();
      // It has begun when somebody has seen it.
      await eventually(async () => {
        const [row] = await network.sql`select 1 from incidents where resolved_at is null`;
        return row !== undefined;
      });
      await passed(lastsMs);
      await nobodyIsDown(why);
      end();
      await areWell();
      await nobodyIsDown(why);
    }
    // The only one that passes stands still for more than two of its turns, and is not lost.
    answerSick(broken);
    await passed(5_000);
    standStill(true);
    await passed(9_000);
    await nobodyIsDown('the well place stands still');
    answerSick(fine);
    standStill(false);
    await areWell();
    const secure = await watch(true);
    for (const monitor of secure.monitors) await seenFrom(network.sql, monitor, 1);
    await passed(lastsMs);
    await nobodyIsDown('their image lacks an authority');
    for (const monitor of secure.monitors) await network.deleteMonitor(monitor);
    await areWell();
    // What is gone for all is an outage.
    const [first] = monitors;
    targets[0]?.answer(broken);
    await incidentThat(network.sql, first ?? '', isConfirmed);
    targets[0]?.answer(fine);
    await incidentThat(network.sql, first ?? '', isResolved);
  },
  600_000,
);

/** Each site has an address of its own, so that probes tell them apart. */
function addressOf(name: string): string {
  const [, kind, number] = /^(plain|secure)-(\d)\.test$/.exec(name) ?? [];
  return `127.0.${kind === 'plain' ? 1 : 2}.${Number(number) + 1}`;
}

const resolverAt = (host: string, says: () => 'truth' | 'nxdomain' | 'wrong address') =>
  startResolver(
    ({ query, name }) => {
      if (name === '' || name === '.')
        return answerTo(query, {
          answers: [{ type: 'NS', name: '.', ttl: 60, data: 'a.root-servers.net' }],
        });
      const known = name.toLowerCase();
      if (!known.endsWith('.test') || says() === 'nxdomain') return answerTo(query, { rcode: 3 });
      const isAddress = query.includes(Buffer.from([0, 1, 0, 1]), 12);
      if (!isAddress) return answerTo(query);
      const data = says() === 'wrong address' ? nowhere : addressOf(known);
      return answerTo(query, { answers: [{ type: 'A', name, ttl: 1, data }] });
    },
    { host, port: 53 },
  );

async function startProbeProcess(
  network: Network,
  continent: Continent,
  more: { readonly resolver: string; readonly authorities?: string },
): Promise<{ end: () => Promise<void>; standStill: (does: boolean) => void }> {
  const made = await network.makeProbe(continent);
  const names = `${made.folder}.resolv.conf`;
  await writeFile(names, `nameserver ${more.resolver}\n`);
  const inItsPlace = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
  const main = join(import.meta.dirname, '../../probe/main.ts');
  const child = await startChildProgram(
    ['unshare', '--mount', 'sh', '-c', inItsPlace, names, process.execPath, main],
    {
      PROBE_CREDENTIALS: made.credentials,
      PROBE_DATA_DIR: made.folder,
      PROBE_ALLOW_CIDRS: '127.0.0.0/8',
      LOG_LEVEL: 'info',
      ...(more.authorities === undefined ? {} : { NODE_EXTRA_CA_CERTS: more.authorities }),
    },
    () => true,
  );
  return {
    end: async () => {
      child.signal('SIGTERM');
      await child.exited;
    },
    standStill: (does) => child.signal(does ? 'SIGSTOP' : 'SIGCONT'),
  };
}
