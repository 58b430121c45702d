import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFile,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSpoolWriter, openSpool, type Spool } from '../../../probe/spool/store.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { resultMessage } from '../../../shared/bus/messages.ts';
import { drain, monitorIn, resultOf, told } from '../support/results.ts';

const log = createLog({ name: 'test', level: 'silent' });
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-spool-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = (more: { mostBytes?: number; segmentBytes?: number } = {}): Promise<Spool> =>
  openSpool({ folder, mostBytes: 16 * 1024 * 1024, segmentBytes: 4 * 1024, log, ...more });

const segmentFiles = async (spool: Spool): Promise<string[]> =>
  (await readdir(join(folder, spool.generation)))
    .toSorted()
    .map((name) => join(folder, spool.generation, name));

describe('the spool', () => {
  test('gives the results of a partition back in order, each naming the one that waits before it', async () => {
    const spool = await open();
    for (let at = 0; at < 1_200; at += 1) spool.append(resultOf(monitorIn(at % 2), at));
    await spool.save();
    const first = await drain(spool, 0);
    expect(first.ats).toEqual(Array.from({ length: 600 }, (_, number) => number * 2));
    expect(first.seqs).toEqual(first.seqs.toSorted((a, b) => a - b));
    expect(first.afters[0]).toBeNull();
    expect(first.afters[1]).toBe(first.seqs[499]);
    expect(await spool.take(2, 0)).toBeUndefined();
    await spool.close();
  });

  test('keeps everything over a restart, with the same generation and numbers that only go up', async () => {
    const before = await open();
    for (let at = 0; at < 300; at += 1) before.append(resultOf(monitorIn(at % 3), at));
    await before.close();
    const after = await open();
    expect(after.generation).toBe(before.generation);
    expect(after.status().waiting).toBe(300);
    expect((await drain(after, 1)).ats).toEqual(
      Array.from({ length: 100 }, (_, number) => number * 3 + 1),
    );
    expect(after.append(resultOf(monitorIn(1), 999))?.seq).toBeGreaterThan(before.lastSeq());
    await after.close();
  });

  /** Lets a process fill the spool until it says that so many are saved, and kills it with -9. */
  const fillAndKill = async (
    command: readonly [string, ...string[]],
    enough: number,
  ): Promise<{ saved: number; generation: string }> => {
    const [file, ...args] = command;
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    let saved = 0;
    let generation = '';
    for await (const line of createInterface({ input: child.stdout })) {
      const [word, value = ''] = line.split(' ');
      if (word === 'generation') generation = value;
      else saved = Number(value);
      if (saved > enough) child.kill('SIGKILL');
    }
    expect(await ended).toEqual([null, 'SIGKILL']);
    return { saved, generation };
  };

  const writer = join(import.meta.dirname, '../support/spool-writer.ts');
  const allSeqs = async (spool: Spool): Promise<number[]> => {
    const found: number[] = [];
    for (let partition = 0; partition < 32; partition += 1)
      found.push(...(await drain(spool, partition)).seqs);
    return found.sort((a, b) => a - b);
  };

  test('survives kill -9: saved results are there, and no number is used twice', async () => {
    const { saved, generation } = await fillAndKill([process.execPath, writer, folder], 5_000);
    const spool = await open();
    expect(spool.generation).toBe(generation);
    const found = await allSeqs(spool);
    expect(found.slice(0, saved)).toEqual(Array.from({ length: saved }, (_, index) => index + 1));
    expect(spool.append(resultOf(monitorIn(0), 1))?.seq).toBeGreaterThan(found.at(-1) ?? 0);
    await spool.close();
  });

  test('loses nothing to writes that the disk breaks off in the middle of a line', async () => {
    // The system cuts every file of that process off at 100 kB, wherever that falls.
    const limited = `ulimit -f 200; exec "$0" "$@"`;
    const { saved } = await fillAndKill(
      ['sh', '-c', limited, process.execPath, writer, folder, '1000000'],
      5_000,
    );
    const spool = await open();
    expect((await segmentFiles(spool)).length).toBeGreaterThan(5);
    expect(spool.status().dropped).toBe(0);
    // A save whose write was broken off keeps its results in memory until the next one.
    expect((await allSeqs(spool)).slice(0, saved - 64)).toEqual(
      Array.from({ length: saved - 64 }, (_, index) => index + 1),
    );
    await spool.close();
  });

  test('passes over a torn last line and over a damaged one, and keeps the rest', async () => {
    const before = await open({ segmentBytes: 1024 * 1024 });
    for (let at = 0; at < 10; at += 1) before.append(resultOf(monitorIn(0), at));
    await before.close();
    const [file = ''] = await segmentFiles(before);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('"at":3', '"at":3"'));
    await truncate(file, Buffer.byteLength(text) + 1 - 20);
    const after = await open();
    expect((await drain(after, 0)).ats).toEqual([0, 1, 2, 4, 5, 6, 7, 8]);
    expect(after.status().dropped).toBe(1);
    after.append(resultOf(monitorIn(0), 77));
    await after.save();
    expect((await drain(after, 0)).ats.at(-1)).toBe(77);
    await after.close();
  });

  test('drops what is committed, removes files that contain nothing else, and remembers how far over a restart', async () => {
    const spool = await open();
    const seqs: number[] = [];
    for (let at = 0; at < 200; at += 1) {
      seqs.push(spool.append(resultOf(monitorIn(at % 2), at))?.seq ?? 0);
      if (at % 10 === 9) await spool.save();
    }
    const all = (await segmentFiles(spool)).length;
    expect(all).toBeGreaterThan(3);
    spool.commit({ 0: seqs[100] ?? 0, 1: seqs[101] ?? 0 });
    expect(spool.status().waiting).toBe(98);
    expect((await drain(spool, 0)).seqs[0]).toBe(seqs[102]);
    expect(spool.committedOf(0)).toBe(seqs[100]);
    await expect.poll(() => segmentFiles(spool).then((files) => files.length)).toBeLessThan(all);
    await spool.tick();
    await spool.close();
    const again = await open();
    expect(again.status().waiting).toBe(98);
    expect(again.committedOf(1)).toBe(seqs[101]);
    await again.close();
  });

  test('names nothing before a batch when what was before it is committed', async () => {
    const spool = await open();
    const seqs = Array.from(
      { length: 4 },
      (_, at) => spool.append(resultOf(monitorIn(5), at))?.seq ?? 0,
    );
    await spool.save();
    expect((await spool.take(5, seqs[1] ?? 0))?.after).toBe(seqs[1]);
    spool.commit({ 5: seqs[1] ?? 0 });
    expect(await spool.take(5, seqs[1] ?? 0)).toMatchObject({ after: null, last: seqs[3] });
    await spool.close();
  });

  test('stays within its bounds by dropping the oldest, and counts what it dropped', async () => {
    const spool = await open({ mostBytes: 32 * 1024, segmentBytes: 4 * 1024 });
    for (let at = 0; at < 2_000; at += 1) {
      spool.append(resultOf(monitorIn(at % 4), at));
      if (at % 20 === 0) await spool.save();
    }
    await spool.save();
    const { waiting, dropped, bytes } = spool.status();
    expect(bytes).toBeLessThanOrEqual(32 * 1024);
    expect(dropped).toBeGreaterThan(1_000);
    expect(waiting + dropped).toBe(2_000);
    const left: number[] = [];
    for (let partition = 0; partition < 4; partition += 1) {
      const { ats, afters } = await drain(spool, partition);
      expect(afters[0]).toBeNull();
      left.push(...ats);
    }
    expect(left.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: waiting }, (_, number) => dropped + number),
    );
    await spool.close();
  });

  test('offers results from memory while the disk takes nothing, and saves them once it does', async () => {
    const spool = await open({ segmentBytes: 300 });
    spool.append(resultOf(monitorIn(0), 0));
    spool.append(resultOf(monitorIn(0), 1));
    await spool.save();
    const place = join(folder, spool.generation);
    await rename(place, `${place}-away`);
    for (let at = 2; at < 6; at += 1) {
      spool.append(resultOf(monitorIn(0), at));
      await spool.save();
    }
    expect((await drain(spool, 0)).ats).toEqual([0, 1, 2, 3, 4, 5]);
    await rename(`${place}-away`, place);
    await spool.save();
    await spool.close();
    const again = await open();
    expect((await drain(again, 0)).ats).toEqual([0, 1, 2, 3, 4, 5]);
    await again.close();
  });

  test('loses the newest, counted, when disk and memory are both full', async () => {
    const spool = await open({ segmentBytes: 300 });
    spool.append(resultOf(monitorIn(0), 0));
    spool.append(resultOf(monitorIn(0), 1));
    await spool.save();
    await rm(join(folder, spool.generation), { recursive: true });
    for (let at = 2; at < 25_000; at += 1) spool.append(resultOf(monitorIn(at % 32), at));
    await spool.save();
    expect(spool.status().dropped).toBe(25_000 - 2 - 20_000);
    expect(spool.append(resultOf(monitorIn(0), 1))).toBeUndefined();
    // What the coordinator has committed makes room again.
    for (let partition = 0; partition < 32; partition += 1)
      spool.commit({ [partition]: spool.lastSeq() });
    await spool.save();
    expect(spool.append(resultOf(monitorIn(0), 1))).toBeDefined();
    expect(spool.status().waiting).toBe(1);
    await spool.close();
  });

  test('begins a new generation when it cannot know its last numbers, and never shows the old results under it', async () => {
    const before = await open();
    before.append(resultOf(monitorIn(0), 1));
    await before.close();
    await writeFile(join(folder, 'spool.json'), '{"v":1,"gener');
    const after = await open();
    expect(after.generation).not.toBe(before.generation);
    expect(after.status().waiting).toBe(0);
    expect(await readdir(folder)).not.toContain(before.generation);
    await after.close();
  });

  test('continues above the numbers that the coordinator knows when its folder was restored to an earlier state', async () => {
    const spool = await open();
    spool.append(resultOf(monitorIn(9), 1));
    spool.commit({ 9: 5_000_000 });
    expect(spool.append(resultOf(monitorIn(9), 2))?.seq).toBe(5_000_001);
    await spool.close();
  });

  test('leaves the evidence out of a result that is too large for the bus', async () => {
    const spool = await open();
    spool.append(
      resultOf(monitorIn(0), 1, { outcome: 'fail', evidence: { body: 'x'.repeat(1_000_000) } }),
    );
    await spool.save();
    const taken = await spool.take(0, 0);
    expect(told(taken)[0]?.evidence).toEqual({ left_out: 'too large' });
    await spool.close();
  });

  test('reads back from disk what it no longer keeps in memory', async () => {
    const spool = await open({ mostBytes: 64 * 1024 * 1024, segmentBytes: 512 * 1024 });
    const evidence = { text: 'y'.repeat(5_000) };
    for (let at = 0; at < 4_000; at += 1) {
      spool.append(resultOf(monitorIn(at % 3), at, { evidence }));
      if (at % 100 === 0) await spool.save();
    }
    await spool.save();
    for (let partition = 0; partition < 3; partition += 1) {
      const { ats, seqs, afters } = await drain(spool, partition);
      expect(ats).toEqual(
        Array.from(
          { length: Math.ceil((4_000 - partition) / 3) },
          (_, number) => number * 3 + partition,
        ),
      );
      for (const after of afters.slice(1)) expect(seqs).toContain(after);
    }
    await spool.close();
  });

  test('keeps on disk what an older probe reads, and returns what was stored, before a restart and after it', async () => {
    const phases = { dns: 1.2, tcp: null, tls: 20.1, first_byte: 30.5, total: 35.2 };
    const given = [
      resultOf(monitorIn(3), 1, { phases }),
      resultOf(monitorIn(3), 2, { phases, look: newId() }),
      resultOf(monitorIn(3), 3, {
        outcome: 'fail',
        cause: { class: 'http_status', params: { status: 503 } },
        evidence: { text: '[1,"a"]' },
      }),
      resultOf(monitorIn(3), 4),
    ];
    const spool = await open();
    for (const result of given) spool.append(result);
    await spool.save();
    expect(told(await spool.take(3, 0))).toMatchObject(given);
    const [file = ''] = await segmentFiles(spool);
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => resultMessage.parse(JSON.parse(line)))).toMatchObject(given);
    await spool.close();
    const again = await open();
    expect(told(await again.take(3, 0))).toMatchObject(given);
    await again.close();
  });

  test('ignores a foreign file in its folder', async () => {
    const before = await open();
    before.append(resultOf(monitorIn(0), 1));
    await before.close();
    await appendFile(join(folder, before.generation, 'notes.txt'), 'hello\n');
    const after = await open();
    expect(after.status()).toMatchObject({ waiting: 1, dropped: 0 });
    await after.close();
  });
});

test('a save waits for what was there, and not for what keeps coming', async () => {
  const line = (seq: number) => ({ seq, partition: 0, position: seq, line: `${seq}` });
  let seq = 1;
  let writes = 0;
  const writer = createSpoolWriter({
    append: async (lines) => {
      writes += 1;
      seq += 1;
      if (seq < 1_000) writer.add(line(seq));
      return lines.map(() => ({ segment: 1, offset: 0, length: 1 }));
    },
    isWanted: () => true,
    onWritten: () => undefined,
    finish: async () => undefined,
    log,
  });
  writer.add(line(seq));
  await writer.save();
  expect([writes, writer.count()]).toEqual([1, 1]);
  await writer.save();
  expect([writes, writer.count()]).toEqual([2, 1]);
});
