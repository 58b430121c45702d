import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Command, findProcess, keepRunning, type Part, type PartEvent, signal } from '../../../deploy/local/processes.ts';
import { eventually } from '../../support/eventually.ts';

let folder: string;
const parts: Part[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-part-'));
});

afterEach(async () => {
  await Promise.all(parts.splice(0).map((part) => part.stop(500)));
  await rm(folder, { recursive: true, force: true });
});

const script = (text: string): Command => ({
  name: 'script',
  file: process.execPath,
  args: ['-e', text],
  stopSignal: 'SIGTERM',
  log: join(folder, 'script.log'),
});

const keep = (text: string, isReady?: () => Promise<boolean>) => {
  const events: PartEvent[] = [];
  const part = keepRunning({ command: script(text), onChange: (event) => events.push(event), ...(isReady && { isReady }) });
  parts.push(part);
  return { part, events, starts: () => events.filter(({ is }) => is === 'started').length };
};

const forever = 'setInterval(() => undefined, 1000)';

describe('a part', () => {
  test('that is killed runs again with another process', async () => {
    const { part, events, starts } = keep(forever);
    await part.ready;
    const first = part.pid() ?? 0;
    signal(first, 'SIGKILL');
    await eventually(() => starts() === 2);
    expect(part.pid()).not.toBe(first);
    expect(events[1]).toEqual({ is: 'ended', how: 'SIGKILL' });
  });

  test('that was stopped by a signal and then killed runs again', async () => {
    const { part, starts } = keep(forever);
    await part.ready;
    const first = part.pid() ?? 0;
    signal(first, 'SIGSTOP');
    signal(first, 'SIGKILL');
    await eventually(() => starts() === 2);
    expect(part.pid()).not.toBe(first);
  });

  test('that ends at once is tried again at growing distances', async () => {
    const { starts } = keep('process.exit(7)');
    await eventually(() => starts() >= 4);
  });

  test('leaves nothing of its group behind when it dies', async () => {
    const { part, starts } = keep(`require('node:child_process').spawn('sleep', ['600']); ${forever}`);
    await part.ready;
    const first = part.pid() ?? 0;
    signal(first, 'SIGKILL');
    await eventually(() => starts() === 2);
    await eventually(() => !signal(-first, 0));
  });

  test('that does not heed its stop signal is killed after the grace, and does not come back', async () => {
    const { part, starts } = keep(`process.on('SIGTERM', () => undefined); ${forever}`);
    await part.ready;
    await part.stop(200);
    expect(await findProcess(part.pid() ?? 0)).toBeUndefined();
    expect(starts()).toBe(1);
  });

  test('that is stopped by a signal can still be stopped for good', async () => {
    const { part } = keep(forever);
    await part.ready;
    signal(part.pid() ?? 0, 'SIGSTOP');
    await part.stop(2_000);
    expect(await findProcess(part.pid() ?? 0)).toBeUndefined();
  });

  test('that ends before it is ready says so with the end of its log', async () => {
    const { part } = keep('console.error("no such thing"); process.exit(3)', async () => false);
    await expect(part.ready).rejects.toThrow(/script ended before it was ready:\n.*no such thing/s);
  });

  test('that cannot be started at all is told, not hidden', async () => {
    const command = { ...script(''), file: join(folder, 'not-there') };
    const events: PartEvent[] = [];
    const part = keepRunning({ command, onChange: (event) => events.push(event) });
    parts.push(part);
    await eventually(() => events.some(({ is }) => is === 'ended'));
  });
});
