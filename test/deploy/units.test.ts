import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** The units for systemd, judged by its own program. That of a probe is written by `join --install`, and judged there. */

const folder = join(import.meta.dirname, '../../deploy/systemd');
const isThere = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!isThere) process.stderr.write('SKIPPED: without systemd-analyze nobody judges the units\n');

const units = ['antipode-coordinator', 'antipode-nats', 'antipode-backup'];

test.each(units)('%s.service needs no user that somebody would have to make, and what it reads in /etc systemd reads for it', (name) => {
  const text = readFileSync(join(folder, `${name}.service`), 'utf8');
  expect([text.match(/^(User|Group)=.*$/m), /^DynamicUser=(.*)$/m.exec(text)?.[1]]).toEqual([null, 'yes']);
  // /etc/antipode is root's with mode 600: only these two are read before the user is taken on.
  const readByRoot = /^(EnvironmentFile=|LoadCredential=[\w.]+:)\/etc\/antipode\/[\w.-]+$/;
  expect(text.split('\n').filter((line) => /^[^#].*\/etc\//.test(line) && !readByRoot.test(line))).toEqual([]);
  const handedOver = [...text.matchAll(/^LoadCredential=([\w.]+):/gm)].map(([, file]) => `%d/${file}`);
  for (const [read] of text.matchAll(/%d\/[\w.]+/g)) expect(handedOver).toContain(read);
});

test.skipIf(!isThere).each(units)('%s.service is a unit, and lets nothing out that need not be', (name) => {
  const scratch = mkdtempSync(join(tmpdir(), 'antipode-units-'));
  try {
    const file = join(scratch, `${name}.service`);
    // What it starts need not be on this machine.
    writeFileSync(file, readFileSync(join(folder, `${name}.service`), 'utf8').replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    expect(`${verified.stdout}${verified.stderr}`.split('\n').filter((line) => line.includes(name))).toEqual([]);
    // Tenths: 20 is an exposure of 2.0.
    const judged = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', file], { encoding: 'utf8' });
    expect([judged.status, /Overall exposure level[^\n]*/.exec(judged.stdout)?.[0]]).toEqual([0, expect.stringContaining('OK')]);
  } finally {
    rmSync(scratch, { recursive: true });
  }
});

test.skipIf(!isThere)('the timer of backups is one, and begins the unit of its name each night', () => {
  const file = join(folder, 'antipode-backup.timer');
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
  expect(`${verified.stdout}${verified.stderr}`.split('\n').filter((line) => line.includes('antipode-backup.timer'))).toEqual([]);
  const when = /^OnCalendar=(.+)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  const next = spawnSync('systemd-analyze', ['calendar', '--base-time=2026-11-23 12:00:00 UTC', when], { encoding: 'utf8' });
  expect(next.stdout).toContain('Tue 2026-11-24 03:17:00 UTC');
});
