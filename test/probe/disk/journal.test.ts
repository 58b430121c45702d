import { appendFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Journal, openJournal } from '../../../probe/disk/journal.ts';

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
    leastLines: 10,
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

describe('the journal', () => {
  test('gives back the last state', async () => {
    const journal = await open();
    await write(journal, 'a=1', 'b=2');
    await write(journal, 'a=3', 'b=');
    await journal.close();
    await (await open()).close();
    expect(held()).toEqual(['a=3']);
  });

  test('stays small through thousands of changes, and loses none', async () => {
    const journal = await open();
    for (let change = 0; change < 2_000; change += 1) await write(journal, `k${change % 7}=${change}`);
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
