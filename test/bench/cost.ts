import { constants } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { rootCertificates } from 'node:tls';
import { mint, mintAuthority } from '../support/certificates.ts';
import { portOf } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import type { Bench, Figure } from './figure.ts';
import { startGatus } from './service/gatus.ts';
import { addMonitors, createHome, endService, startService, watch } from './service/local.ts';

/**
 * What a check costs in all: the CPU of all processes of the service with one place, beside Gatus,
 * at the same target in the same minutes.
 */

const count = 500;
const interval_s = 10;
const due = count / interval_s;
const minuteMs = 60_000;

/** A page of 2 KB by TLS, a connection for each check; who asked is the first part of the path. */
async function startTarget() {
  const root = mintAuthority('Bench Root');
  const leaf = mint({ names: ['localhost'], issuer: root, key: 'ec' });
  const page = Buffer.alloc(2_048, 0x61);
  const seen = new Map<string, number>();
  const server = createServer(
    { cert: leaf.chain, key: leaf.key, secureOptions: constants.SSL_OP_NO_TICKET },
    (request, response) => {
      const [, who = ''] = (request.url ?? '').split('/');
      seen.set(who, (seen.get(who) ?? 0) + 1);
      response.writeHead(200, { 'content-length': page.length, connection: 'close' }).end(page);
    },
  );
  const port = await portOf(server);
  return {
    authority: root.certificate,
    url: `https://localhost:${port}`,
    seenOf: (who: string) => seen.get(who) ?? 0,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export const cost: Bench = {
  name: 'cost',
  about: `CPU of the whole service a check, one place, ${count} monitors of ${interval_s} s, beside Gatus (15 min)`,
  onlyByName: true,
  run: async (say, { windowMs = 3 * minuteMs } = {}) => {
    const home = await createHome();
    const ends: (() => unknown)[] = [() => rm(home, { recursive: true, force: true })];
    try {
      const target = await startTarget();
      ends.push(target.close);
      const authority = join(home, 'authority.pem');
      await writeFile(authority, [...rootCertificates, target.authority].join('\n'));
      const environment = { ANTIPODE_PLACES: '1', NODE_EXTRA_CA_CERTS: authority };
      say('starting');
      const service = await startService(join(home, 'service'), environment);
      ends.push(() => endService(service));
      await addMonitors(service, { url: `${target.url}/ours`, count, interval_s });
      const gatus = await startGatus(home, {
        url: `${target.url}/theirs`,
        count,
        interval_s,
        authority,
      });
      if (gatus) ends.push(gatus.close);
      // Gatus starts its endpoints one after another, 777 ms apart.
      say('until both are at their full rate');
      await eventually(async () => {
        const before = target.seenOf('theirs');
        await pause(2 * interval_s * 1_000);
        return !gatus || target.seenOf('theirs') - before > 0.9 * 2 * interval_s * due;
      }, 10 * minuteMs);
      say('measuring');
      const [ours, theirs, cpu] = [target.seenOf('ours'), target.seenOf('theirs'), gatus?.cpuMs()];
      const began = performance.now();
      const parts = await watch(service.launcher.pid, windowMs);
      const seconds = (performance.now() - began) / 1_000;
      const [made, theirMade] = [target.seenOf('ours') - ours, target.seenOf('theirs') - theirs];
      const used = gatus && cpu !== undefined ? gatus.cpuMs() - cpu : undefined;
      return figures({ parts, seconds, made, theirMade, used });
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  },
};

function figures({
  parts,
  seconds,
  made,
  theirMade,
  used,
}: {
  readonly parts: Awaited<ReturnType<typeof watch>>;
  readonly seconds: number;
  readonly made: number;
  readonly theirMade: number;
  /** Of Gatus, in milliseconds; undefined where it is not to be had. */
  readonly used: number | undefined;
}): Figure[] {
  const msOf = (percent: number): number => (percent * 10 * seconds) / made;
  const ours = parts.reduce((sum, { percent }) => sum + msOf(percent), 0);
  const ratio = used === undefined ? null : ours / (used / theirMade);
  const wanted = Math.round(due * seconds);
  return [
    ...parts.map(({ name, percent, mb }) => ({
      what: `CPU a check: ${name}`,
      ours: `${msOf(percent).toFixed(2)} ms, ${mb.toFixed(0)} MB`,
      against: '–',
      ratio: null,
      goal: '–',
      holds: null,
    })),
    {
      what: `CPU a check, all (${made} of ${wanted} due)`,
      ours: `${ours.toFixed(2)} ms`,
      against:
        used === undefined
          ? 'Gatus is not on this machine'
          : `Gatus ${(used / theirMade).toFixed(2)} ms (${theirMade} of ${wanted})`,
      ratio,
      goal: '≤ 1.00 ×',
      holds: ratio === null ? null : ratio <= 1,
    },
  ];
}
