import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemZoneVersion, writeSystemZones } from '../../../shared/zones/system.ts';

/** The zones of this machine, as Node reads them and as the machine's own program does. */

const run = promisify(execFile);
const version = await systemZoneVersion();
const hasZdump = await run('zdump', ['UTC']).then(
  () => true,
  () => false,
);

describe.runIf(version !== null && hasZdump)('the zones of the machine', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zones-of-a-test-'));
    await writeSystemZones(version ?? '', folder);
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** What another Node says that has those zones. */
  const said = async (script: string, input: unknown): Promise<unknown> => {
    const env = { ...process.env, ICU_TIMEZONE_FILES_DIR: folder };
    const running = run(process.execPath, ['-e', script], { env, maxBuffer: 64 * 1024 * 1024 });
    running.child.stdin?.end(JSON.stringify(input));
    return JSON.parse((await running).stdout);
  };

  test('are those that Node then has, and it has no fewer', async () => {
    const [theirs, names] = (await said(
      `console.log(JSON.stringify([process.versions.tz, Intl.supportedValuesOf('timeZone')]))`,
      null,
    )) as [string, string[]];
    expect(theirs).toBe(version);
    const here = Intl.supportedValuesOf('timeZone');
    expect(here.filter((name) => !names.includes(name))).toEqual([]);
  });

  test('are used by a process that begins again, and leave nothing behind', async () => {
    const script = join(folder, 'begins.ts');
    const system = join(import.meta.dirname, '../../../shared/zones/system.ts');
    await writeFile(
      script,
      `import { readdirSync } from 'node:fs';
      import { tmpdir } from 'node:os';
      import { useSystemZones } from ${JSON.stringify(system)};
      await useSystemZones(process.env, '0000');
      const all = Intl.supportedValuesOf('timeZone').map((timeZone) =>
        new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).format(0));
      const left = readdirSync(tmpdir()).filter((name) => name.startsWith('antipode-zones-'));
      console.log(JSON.stringify([process.versions.tz, process.argv[2], all.length, left,
        process.env.ICU_TIMEZONE_FILES_DIR ?? null]));`,
    );
    const env = { ...process.env, TMPDIR: folder };
    const { stdout } = await run(process.execPath, [script, 'word'], { env });
    expect(JSON.parse(stdout)).toEqual([version, 'word', expect.any(Number), [], null]);
    expect(JSON.parse(stdout)[2]).toBeGreaterThan(400);
  });

  test('have the offsets of zdump at each change from 2000 to 2050', async () => {
    const names = [...Intl.supportedValuesOf('timeZone'), 'US/Eastern', 'Asia/Kolkata'];
    const { stdout } = await run('zdump', ['-v', '-c', '2000,2050', ...names], {
      maxBuffer: 64 * 1024 * 1024,
    });
    const seen: [string, number, number][] = [];
    const changes = /^(\S+) +\w+ (\w{3} +\d+ [\d:]+ \d+) UT = .* gmtoff=(-?\d+)/gm;
    for (const [, name = '', text, offset] of stdout.matchAll(changes)) {
      const at = Date.parse(`${text} UTC`);
      if (at > Date.UTC(2000, 0, 1)) seen.push([name, at, Number(offset)]);
    }
    const wrong = await said(
      `const seen = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
      const forms = Object.groupBy(seen, ([timeZone]) => timeZone);
      const wrong = Object.entries(forms).flatMap(([timeZone, moments]) => {
        const form = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', year: 'numeric',
          month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' });
        return moments.filter(([, at, offset]) => {
          const p = Object.fromEntries(form.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
          return (Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) - at) / 1000 !== offset;
        });
      });
      console.log(JSON.stringify(wrong));`,
      seen,
    );
    expect(seen.length).toBeGreaterThan(10_000);
    expect(wrong).toEqual([]);
  });
});
