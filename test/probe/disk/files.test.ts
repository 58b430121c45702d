import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openJournal } from '../../../probe/disk/journal.ts';
import { canMakeDisks, createSmallDisk } from '../../support/hosts.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-disk-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const disk = join(import.meta.dirname, '../../../probe/disk/files.ts');

/** Takes every file that this process may have open but one, makes a log file with that, gives all back, and has its garbage collected. */
const program = `
import { openSync, closeSync } from 'node:fs';
const { createLogFile } = await import(${JSON.stringify(disk)});
const taken = [];
try { for (;;) taken.push(openSync('/dev/null', 'r')); } catch {}
closeSync(taken.pop());
const made = await createLogFile(process.argv[1]).then(() => 'made', ({ code }) => code);
for (const each of taken) closeSync(each);
for (let times = 0; times < 20; times += 1) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)); }
process.stdout.write(made);`;

describe('a log file', () => {
  test('that could not be made whole leaves nothing open that would end the process later', async () => {
    const node = ['--expose-gc', '--input-type=module', '--eval', program, join(folder, 'log')];
    const shell = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, ...node];
    const { stdout } = await promisify(execFile)('/bin/sh', shell, { timeout: 20_000 });
    expect(stdout).toBe('EMFILE');
  });
});

describe.runIf(canMakeDisks())('a journal on a disk that is nearly full', () => {
  test('keeps all that it said, also when only a part of a snapshot found room', async () => {
    const small = createSmallDisk(join(folder, 'small'), 128);
    try {
      const state = new Map<string, string>();
      const open = () =>
        openJournal({
          folder: join(small.folder, 'journal'),
          replay: (line) => void state.set(line.slice(0, 2), line),
          leastLines: 20,
          snapshot: () => state.values(),
        });
      const lineOf = (nth: number): string => `${String(nth).padStart(2, '0')}${'x'.repeat(1_500)}`;
      const journal = await open();
      const say = (nth: number) => {
        state.set(lineOf(nth).slice(0, 2), lineOf(nth));
        return journal.append([lineOf(nth)]);
      };
      for (let nth = 0; nth < 20; nth += 1) await say(nth);
      await small.fill();
      // Room for the line, and for a third of the snapshot that its log is now long enough for.
      await truncate(join(small.folder, 'ballast'), (await stat(join(small.folder, 'ballast'))).size - 16_384);
      await say(20).catch(() => undefined); // Whether it is told that there was no room is the journal's; that nothing is lost is not.
      await journal.close();
      const before = [...state.values()].toSorted();
      state.clear();
      await (await open()).close();
      expect([...state.values()].toSorted()).toEqual(before);
    } finally {
      small.close();
    }
  });
});
