import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { exits } from '../../../shared/client/http.ts';
import { createCommand } from '../../support/cli.ts';
import { portOf } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import { runProgram } from '../../support/processes.ts';
import { freePort } from '../../support/services.ts';

describe('asks before ending', () => {
  const probe = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

  test('asks before a probe is revoked, and revokes none without a terminal, unless confirmed by a flag', async () => {
    // Nobody is there: what is asked of the service fails.
    const { run } = createCommand({ url: `http://127.0.0.1:${await freePort()}`, token: 'svc_x' });
    const line = ['probes', 'end', probe];
    const refused = await run(line, { terminal: true, answer: 'n' });
    expect(refused).toMatchObject({ code: exits.usage, out: '', err: 'Nothing was ended.\n' });
    expect(refused.asked).toEqual([
      expect.stringMatching(new RegExp(`^End the probe ${probe} for good\\? .* cannot come back`)),
    ]);
    expect(await run(line)).toMatchObject({
      code: exits.usage,
      err: expect.stringMatching(/^Nothing was ended: .*--yes/),
    });
    for (const told of [
      await run(line, { terminal: true, answer: 'y' }),
      await run([...line, '--yes']),
    ]) {
      expect(told.err).not.toContain('Nothing was ended');
      expect(told.code).not.toBe(exits.usage);
    }
  });
});

describe('run job', () => {
  type Ping = { readonly path: string; readonly id: string | null; readonly body: string };

  let pings: Ping[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://x');
      pings.push({ path: url.pathname, id: url.searchParams.get('rid'), body });
      response.writeHead(status).end();
    });
  });
  let beat = '';
  beforeAll(async () => {
    beat = `http://127.0.0.1:${await portOf(server)}/beat/KEY`;
  });
  afterAll(() => void server.close());
  beforeEach(() => {
    pings = [];
    status = 200;
  });

  const client = 'shared/client/antipode.ts';
  const run = (...given: string[]) =>
    runProgram([process.execPath, client, 'run', ...given], { env: { PATH: process.env.PATH } });

  test('a job is reported at its start and its end, with its exit code, its id and its last output; its output goes where it went', async () => {
    const ran = await run('--ping', beat, '--', 'sh', '-c', 'echo out; echo err >&2; exit 3');
    expect(ran).toEqual({ code: 3, out: 'out\n', err: 'err\n' });
    expect(pings.map(({ path }) => path)).toEqual(['/beat/KEY/start', '/beat/KEY/3']);
    expect(pings[1]?.body.split('\n').toSorted()).toEqual(['', 'err', 'out']);
    expect(pings[0]?.id).toMatch(/^[0-9a-f]{8}-/);
    expect(pings[1]?.id).toBe(pings[0]?.id);
  });

  test('of much output the last is sent, and all of it is passed on', async () => {
    const ran = await run(
      `--ping=${beat}/`,
      '--',
      process.execPath,
      '-e',
      'process.stdout.write("é".repeat(50000) + "end")',
    );
    expect(ran.out).toHaveLength(50_003);
    const told = pings[1]?.body ?? '';
    expect(Buffer.byteLength(told)).toBeLessThanOrEqual(10_000);
    expect(told).toMatch(/^é+end$/);
  });

  test('flags behind -- belong to the job, and one without a known heartbeat runs all the same', async () => {
    status = 404;
    const ran = await run('--ping', beat, '--', 'echo', '--json', '--help');
    expect(ran).toMatchObject({ code: 0, out: '--json --help\n' });
    expect(ran.err).toMatch(/the end was not told: the service knows no such heartbeat/);
    expect(pings).toHaveLength(2);
  });

  test('a command that is not there fails the heartbeat as a shell would', async () => {
    const ran = await run('--ping', beat, '--', '/nowhere/backup');
    expect(ran).toMatchObject({
      code: 127,
      err: expect.stringContaining('there is no such command'),
    });
    expect(pings[1]).toMatchObject({
      path: '/beat/KEY/127',
      body: expect.stringContaining('/nowhere/backup'),
    });
  });

  test('a signal reaches the job, and the heartbeat gets its exit code', async () => {
    const child = spawn(
      process.execPath,
      [client, 'run', '--ping', beat, '--', 'sh', '-c', 'echo ready; exec sleep 1000'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    expect(code).toBe(143);
    await eventually(() =>
      expect(pings.at(-1)).toMatchObject({ path: '/beat/KEY/143', body: 'ready\n' }),
    );
  });

  test.each<[string, string[], RegExp]>([
    ['no address', ['--', 'true'], /needs the address of the heartbeat/],
    [
      'an address with a query',
      ['--ping', 'https://a.example/beat/K?x=1', '--', 'true'],
      /needs the address of the heartbeat/,
    ],
    ['no command', ['--ping', 'https://a.example/beat/K'], /needs a command behind --/],
    ['another flag', ['--bet', 'https://a.example/beat/K', '--', 'true'], /not "--bet"/],
    [
      'a command without --',
      ['--ping', 'https://a.example/beat/K', 'backup', '--', 'x'],
      /stands behind --/,
    ],
  ])('%s is told, and nothing is run', async (_, given, message) => {
    const ran = await run(...given);
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringMatching(message) });
    expect(pings).toEqual([]);
  });
});
