import { spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLog, createLogOutput } from '../../../shared/base/log.ts';

describe('log', () => {
  const logged = (write: (log: ReturnType<typeof createLog>) => void): string => {
    const lines: string[] = [];
    write(createLog({ name: 'test', level: 'info' }, { write: (line) => void lines.push(line) }));
    return lines.join('');
  };

  test('secrets are taken out by the name of their key', () => {
    const text = logged((log) =>
      log.info({ password: 'hunter2', caller: { token: 'abc', name: 'deploy' } }, 'in'),
    );
    expect(text).not.toMatch(/hunter2|abc/);
    expect(text).toContain('deploy');
  });

  test('secrets are taken out by their shape, wherever they stand', () => {
    const token = 'svc_0123456789abcdefghijklmnopqrstuvwxyzABCD';
    const text = logged((log) =>
      log.error(
        { err: new Error(`refused ${token}`) },
        'GET /beat/abcdefghijk/start from postgres://someone:sesame@127.0.0.1/x by SUACH6EXAMPLE7EXAMPLE7EXAMPLE7EXAMPLE7EXAMPLE7EXAMPLE7EXAM',
      ),
    );
    expect(text).not.toMatch(/0123456789|abcdefghijk|sesame|SUACH6/);
    expect(text).toContain('someone');
  });

  test('secrets are taken out of paths that hold one, and of cookies', () => {
    const places = [
      'enter',
      'join',
      'reset',
      'verify',
      'keep',
      'finish',
      'shared/incidents',
      'shared/reports',
    ];
    const text = logged((log) =>
      log.error(
        { url: '/enter/OneTimeSecret-1', cookie_header: 'a=b; svc_session=OneTimeSecret-2' },
        places.map((at) => `/${at}/OneTimeSecret-3?x=1`).join(' '),
      ),
    );
    expect(text).not.toContain('OneTimeSecret');
    for (const at of places) expect(text).toContain(`/${at}/***?x=1`);
  });
});

describe('the output of a log', () => {
  const log = join(import.meta.dirname, '../../../shared/base/log.ts');

  /** A pipe with room for so many bytes, and what came through it. */
  const pipeOf = (room: number) => {
    const state = { room, text: '' };
    const output = createLogOutput((data) => {
      if (state.room === 0) throw Object.assign(new Error('no room'), { code: 'EAGAIN' });
      const taken = Math.min(state.room, data.length);
      state.room -= taken;
      state.text += Buffer.from(data.subarray(0, taken)).toString();
      return taken;
    });
    return { state, output };
  };

  describe('a log without a reader', () => {
    test('waits in memory, and comes whole and in order when it is read on', () => {
      const { state, output } = pipeOf(7);
      for (const line of ['one\n', 'two\n', 'three\n']) output.write(line);
      expect(state.text).toBe('one\ntwo');
      state.room = 1_000;
      output.write('four\n');
      expect(state.text).toBe('one\ntwo\nthree\nfour\n');
    });

    test('leaves out what is too much, and says how much that was', () => {
      const { state, output } = pipeOf(0);
      const line = `${'x'.repeat(1_023)}\n`;
      for (let count = 0; count < 1_100; count += 1) output.write(line);
      state.room = 10_000_000;
      output.write('last\n');
      const lines = state.text.trimEnd().split('\n');
      const kept = lines.filter((one) => one === line.trimEnd()).length;
      expect(kept).toBe(1_025);
      expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
        level: 40,
        msg: 'nobody read the log: 76 lines are missing',
      });
      output.write('more\n');
      expect(state.text.endsWith('}\nmore\n')).toBe(true);
    });

    test('is given up when its reader has gone', () => {
      let asked = 0;
      const output = createLogOutput(() => {
        asked += 1;
        throw Object.assign(new Error('gone'), { code: 'EPIPE' });
      });
      output.write('one\n');
      output.write('two\n');
      expect(asked).toBe(1);
    });
  });

  const hasPipes =
    process.platform === 'linux' &&
    spawnSync('mkfifo', ['--version'], { stdio: 'ignore' }).status === 0;

  /** Logs far more than a pipe holds, says so by another way, and then waits to be told to end. */
  const chatter = `
  const { createLog } = await import(${JSON.stringify(log)});
  const log = createLog({ name: 'chatter', level: 'info' });
  process.on('SIGTERM', () => process.exit(7));
  for (let count = 0; count < 500; count += 1) log.info({ count, text: 'x'.repeat(1_000) }, 'a line');
  process.stderr.write('all is said');
  setInterval(() => log.info('another line'), 10);`;

  test.runIf(hasPipes)(
    'a process with an unread log goes on, and ends when it is stopped',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'antipode-log-'));
      const path = join(folder, 'pipe');
      spawnSync('mkfifo', [path]);
      const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const writer = openSync(path, constants.O_WRONLY);
      const child = spawn(process.execPath, ['--input-type=module', '-e', chatter], {
        stdio: ['ignore', writer, 'pipe'],
      });
      closeSync(writer);
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      // What stands would stand for ever.
      const patience = setTimeout(() => child.kill('SIGKILL'), 60_000);
      let said = '';
      child.stderr?.on('data', (data: Buffer) => {
        said += data.toString();
        if (said.includes('all is said')) child.kill('SIGTERM');
      });
      expect([await ended, said]).toEqual([7, 'all is said']);
      clearTimeout(patience);
      // What there was room for is there, in whole lines.
      const read = Buffer.alloc(1 << 16);
      const [first = ''] = read.subarray(0, readSync(reader, read)).toString().split('\n');
      expect(JSON.parse(first)).toMatchObject({ name: 'chatter', count: 0 });
      closeSync(reader);
      await rm(folder, { recursive: true });
    },
  );
});
