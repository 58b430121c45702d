import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Command,
  createProcesses,
  findProcess,
  type Processes,
  signal,
} from '../../../deploy/local/processes.ts';
import { eventually } from '../../support/eventually.ts';

let folder: string;
const all: Processes[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-part-'));
});

afterEach(async () => {
  await Promise.all(all.splice(0).map((processes) => processes.dismiss()));
  await rm(folder, { recursive: true, force: true });
});

const script = (text: string): Command => ({
  name: 'script',
  file: process.execPath,
  args: ['-e', text],
  stopSignal: 'SIGTERM',
  log: join(folder, 'script.log'),
});

/** Its first process runs, and what follows is said. */
const keep = async (command: Command, isReady?: () => Promise<boolean>) => {
  const said: string[] = [];
  let starts = 0;
  const processes = createProcesses({
    say: (line) => said.push(line),
    onStarted: () => {
      starts += 1;
    },
  });
  all.push(processes);
  const ready = processes.start(command, isReady);
  await ready.catch(() => undefined);
  return { processes, ready, said, starts: () => starts, pid: () => processes.pid('script') ?? 0 };
};

const forever = 'setInterval(() => undefined, 1000)';

describe('a part', () => {
  test.each([['SIGKILL'], ['SIGSTOP', 'SIGKILL']] as const)(
    'that is ended by %s runs again with another process',
    async (...signals) => {
      const { processes, said, starts, pid } = await keep(script(forever));
      processes.settle();
      const first = pid();
      for (const one of signals) signal(first, one);
      await eventually(() => starts() === 2);
      expect(pid()).not.toBe(first);
      expect(said[0]).toContain('script ended (SIGKILL), starting it again');
      expect(said[1]).toBe(`script runs again (process ${pid()})`);
    },
  );

  test('that ends at once is retried at growing intervals, and fails the start', async () => {
    const { processes, starts } = await keep(
      script('console.error("no such thing"); process.exit(7)'),
    );
    await expect(processes.trouble).rejects.toThrow(
      /script ends again and again:\n.*no such thing/s,
    );
    await eventually(() => starts() >= 4);
  });

  test('leaves nothing of its group behind when it dies', async () => {
    const { starts, pid } = await keep(
      script(`require('node:child_process').spawn('sleep', ['600']); ${forever}`),
    );
    const first = pid();
    signal(first, 'SIGKILL');
    await eventually(() => starts() === 2);
    await eventually(() => !signal(-first, 0));
  });

  test('that ignores its stop signal is killed after the grace, and does not come back', async () => {
    const { processes, starts, pid } = await keep(
      script(`process.on('SIGTERM', () => undefined); ${forever}`),
    );
    await processes.dismiss();
    expect(await findProcess(pid())).toBeUndefined();
    expect(starts()).toBe(1);
    await expect(processes.start(script(forever))).rejects.toThrow('dismissed');
  });

  test('that is paused by a signal can still be stopped', async () => {
    const { processes, pid } = await keep(script(forever));
    signal(pid(), 'SIGSTOP');
    await processes.dismiss();
    expect(await findProcess(pid())).toBeUndefined();
  });

  test('that ends before it is ready is reported with the end of its log', async () => {
    const { ready } = await keep(
      script('console.error("no such thing"); process.exit(3)'),
      async () => false,
    );
    await expect(ready).rejects.toThrow(/script ended before it was ready:\n.*no such thing/s);
  });

  test('that cannot be started is reported', async () => {
    const { ready, processes } = await keep({ ...script(''), file: join(folder, 'not-there') });
    // With setpriv it is that program which says so.
    await expect(
      Promise.race([ready.then(() => processes.trouble), processes.trouble]),
    ).rejects.toThrow(/not-there|script/);
  });
});
