import { execFile } from 'node:child_process';
import {
  appendFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { claimDataFolder } from '../../../probe/disk/files.ts';
import { type Journal, openJournal } from '../../../probe/disk/journal.ts';
import { canMakeDisks, createSmallDisk } from '../../support/hosts.ts';

describe('files', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-disk-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const disk = join(import.meta.dirname, '../../../probe/disk/files.ts');

  /**
   * Takes every file that this process may have open but one, makes a log file with that, gives all
   * back, and has its garbage collected.
   */
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
    test('that could not be created leaves nothing open that would end the process later', async () => {
      const node = ['--expose-gc', '--input-type=module', '--eval', program, join(folder, 'log')];
      const shell = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, ...node];
      const { stdout } = await promisify(execFile)('/bin/sh', shell, { timeout: 20_000 });
      expect(stdout).toBe('EMFILE');
    });
  });

  describe('a data folder', () => {
    const probe = '0198c0de-0000-7000-8000-000000000001';

    /** How many of the processes that start at nearly the same time have the folder. */
    const holders = async (data: string, apartMs = 0): Promise<number> => {
      const claims = await Promise.allSettled(
        [0, 1, 2].map(async (nth) => {
          await setTimeout(nth * apartMs);
          return claimDataFolder(data, probe);
        }),
      );
      const held = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
      for (const { release } of held) await release();
      for (const claim of claims)
        if (claim.status === 'rejected')
          expect(String(claim.reason)).toContain('another process of this probe uses');
      return held.length;
    };

    test('whose process was killed goes to one of those that start at once', async () => {
      const stale = join(folder, 'stale');
      const listening = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
      const killed = promisify(execFile)(process.execPath, ['--eval', listening, stale]);
      await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' });
      for (let times = 0; times < 30; times += 1) {
        const data = join(folder, `data-${times}`);
        await mkdir(data);
        await link(stale, join(data, 'in-use'));
        await writeFile(join(data, 'probe.id'), probe);
        expect(await holders(data, times % 3)).toBe(1);
      }
    });

    test('is held by one process also where its path is too long for a socket', async () => {
      const data = join(folder, 'long'.repeat(30));
      expect(await holders(data)).toBe(1);
      expect(await holders(data)).toBe(1);
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
            leastBytes: 30_000,
            snapshot: () => state.values(),
          });
        const lineOf = (nth: number): string =>
          `${String(nth).padStart(2, '0')}${'x'.repeat(1_500)}`;
        const journal = await open();
        const say = (nth: number) => {
          state.set(lineOf(nth).slice(0, 2), lineOf(nth));
          return journal.append([lineOf(nth)]);
        };
        for (let nth = 0; nth < 20; nth += 1) await say(nth);
        await small.fill();
        // Room for the line, and for a third of the snapshot that its log is now long enough for.
        await truncate(
          join(small.folder, 'ballast'),
          (await stat(join(small.folder, 'ballast'))).size - 16_384,
        );
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
});

describe('the journal', () => {
  let folder: string;
  let state: Map<string, string>;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-journal-'));
    state = new Map();
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Lines are "key=value"; an empty value takes the key away. */
  const apply = (line: string): void => {
    const [key = '', value = ''] = line.split('=');
    if (value === '') state.delete(key);
    else state.set(key, value);
  };

  const open = (): Promise<Journal> => {
    state = new Map();
    return openJournal({
      folder,
      replay: apply,
      leastBytes: 50,
      snapshot: function* () {
        for (const [key, value] of state) yield `${key}=${value}`;
      },
    });
  };

  const write = async (journal: Journal, ...lines: string[]): Promise<void> => {
    for (const line of lines) apply(line);
    await journal.append(lines);
  };

  const held = (): string[] => [...state].map(([key, value]) => `${key}=${value}`).toSorted();

  test('returns the last state', async () => {
    const journal = await open();
    await write(journal, 'a=1', 'b=2');
    await write(journal, 'a=3', 'b=');
    await journal.close();
    await (await open()).close();
    expect(held()).toEqual(['a=3']);
  });

  test('stays small through thousands of changes, and loses none', async () => {
    const journal = await open();
    for (let change = 0; change < 2_000; change += 1)
      await write(journal, `k${change % 7}=${change}`);
    const before = held();
    await journal.close();
    const files = await readdir(folder);
    expect(files.length).toBeLessThanOrEqual(3);
    await (await open()).close();
    expect(held()).toEqual(before);
  });

  test('passes over a line that was torn when the process was killed, and writes on behind it', async () => {
    const journal = await open();
    await write(journal, 'a=1', 'b=2');
    await journal.close();
    const [log = ''] = await readdir(folder);
    await appendFile(join(folder, log), 'c=12');
    const again = await open();
    expect(held()).toEqual(['a=1', 'b=2']);
    await write(again, 'd=4');
    await again.close();
    await (await open()).close();
    expect(held()).toEqual(['a=1', 'b=2', 'd=4']);
  });

  test('pays no heed to a snapshot that was not finished', async () => {
    const journal = await open();
    await write(journal, 'a=1');
    await journal.close();
    await writeFile(join(folder, 'snapshot-00000009.jsonl.next'), 'z=9\n');
    await (await open()).close();
    expect(held()).toEqual(['a=1']);
  });

  test('says so when the disk refuses, and takes lines again when it does not', async () => {
    const journal = await open();
    await rm(folder, { recursive: true });
    await expect(journal.append(['a=1'])).rejects.toThrow();
    await (await open()).close();
    await write(journal, 'a=1');
    await journal.close();
    await (await open()).close();
    expect(held()).toEqual(['a=1']);
  });
});
