import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { findProcess, signal } from '../../../deploy/local/processes.ts';
import { click, navigate } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import { hasBinaries } from '../../support/services.ts';
import {
  ask,
  createHome,
  isWell,
  type Local,
  processesOf,
  removeHome,
  type Service,
  startService,
  stopService,
} from '../service.ts';

const heartbeatShape = z.strictObject({
  Frankfurt: z.url(),
  Virginia: z.url(),
  Singapore: z.url(),
});

describe.runIf(hasBinaries())('npm start', { timeout: 150_000 }, () => {
  let home: string;
  let service: Service;
  let first: Local;

  beforeAll(async () => {
    home = await createHome();
    service = startService(home);
    first = await service.ready;
  });
  afterAll(async () => {
    await stopService(service);
    await removeHome(home);
  });

  test('prints a link that signs the owner in by a click, and not by a preview; once', async () => {
    expect(service.said()).toContain(first.sign_in_url);
    for (const headers of [{}, { ...click, 'sec-purpose': 'prefetch' }])
      expect(await navigate(first.sign_in_url, headers)).toMatchObject({
        status: 200,
        cookies: [],
      });
    const { status, location, cookies } = await navigate(first.sign_in_url);
    expect([status, location]).toEqual([303, '/']);
    const page = await fetch(first.base_url, {
      headers: { accept: 'text/html', cookie: cookies[0]?.split(';')[0] ?? '' },
    });
    expect(await page.text()).toContain(first.email);
    expect((await navigate(first.sign_in_url)).status).toBe(404);
  });

  test('ends with an address, a token, the docs and the lines of the first minute, and all three probes present', async () => {
    expect(service.said()).toContain(first.api_token);
    expect(service.said()).toContain(`${first.base_url}/docs`);
    const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8');
    const [, minute = ''] = /## Sixty seconds[\s\S]*?```sh\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(minute.trim().split('\n')).toHaveLength(3);
    for (const line of minute.trim().split('\n')) expect(service.said()).toContain(line);
    expect(await ask(`${first.base_url}/api/v1/me`, first.api_token)).toMatchObject({
      status: 200,
    });
    expect((await fetch(`${first.base_url}/health`, { method: 'HEAD' })).status).toBe(200);
    const { status, body } = await ask(`${first.base_url}/health`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'ok',
      parts: {
        probes: expect.arrayContaining(
          [
            { name: 'Frankfurt', continent: 'Europe' },
            { name: 'Virginia', continent: 'North America' },
            { name: 'Singapore', continent: 'Asia' },
          ].map((probe) => expect.objectContaining({ ...probe, present: true })),
        ),
      },
    });
  });

  test('an unknown address is refused in the form of the API, and leads to its page', async () => {
    expect(await ask(`${first.base_url}/nothing`)).toEqual({
      status: 404,
      body: {
        error: { code: 'route_not_found', message: expect.stringContaining('/api/v1/docs') },
      },
    });
    expect((await fetch(`${first.base_url}/api/v1/docs`)).status).toBe(200);
  });

  test('takes a port below the ephemeral ones when asked for any', () => {
    expect(Number(new URL(first.base_url).port)).toBeLessThan(32_768);
  });

  test('has a heartbeat address at every probe, written in a file of its own', async () => {
    const urls = heartbeatShape.parse(
      JSON.parse(await readFile(join(home, 'heartbeat-urls.json'), 'utf8')),
    );
    for (const url of Object.values(urls))
      expect((await fetch(`${url}/beat/unknown`)).status).toBe(404);
    expect(new Set(Object.values(urls)).size).toBe(3);
  });

  test('shows its secrets to the owner only', async () => {
    for (const name of ['local.json', 'state.json', 'environment.json'])
      expect((await stat(join(home, name))).mode & 0o777).toBe(0o600);
  });

  test('a second one on the same home refuses with one line and disturbs nothing', async () => {
    const second = startService(home);
    expect(await second.exited).toBe(1);
    expect(second.said().trim().split('\n')).toHaveLength(1);
    expect(second.said()).toContain(`already runs on ${home}`);
    expect(await service.local()).toEqual(first);
    expect(await isWell(first)).toBe(true);
  });

  const parts: Readonly<Record<string, (local: Local) => number>> = {
    postgres: ({ pids }) => pids.postgres,
    nats: ({ pids }) => pids.nats,
    coordinator: ({ pids }) => pids.coordinator,
    probes: ({ pids }) => pids.probes.Frankfurt,
  };

  const heals = async (
    name: string,
    pidOf: (local: Local) => number,
    ...signals: readonly NodeJS.Signals[]
  ): Promise<void> => {
    const before = await service.local();
    for (const one of signals) signal(pidOf(before), one);
    const after = await eventually(async () => {
      const local = await service.local();
      return pidOf(local) !== pidOf(before) && (await isWell(local)) ? local : undefined;
    }, 60_000);
    expect(await findProcess(pidOf(after)), name).toBeDefined();
    expect(await findProcess(pidOf(before)), name).toBeUndefined();
  };

  test.each(Object.entries(parts))('heals kill -9 of %s by itself', async (name, pidOf) => {
    await heals(name, pidOf, 'SIGKILL');
  });

  test('heals a part that was stopped by a signal and then killed', async () => {
    await heals('coordinator', ({ pids }) => pids.coordinator, 'SIGSTOP', 'SIGKILL');
    await heals('Virginia', ({ pids }) => pids.probes.Virginia, 'SIGSTOP', 'SIGKILL');
  });

  test('a kill -9 of the launcher is recovered by the next start, which keeps the data', async () => {
    const before = await service.local();
    signal(before.pids.launcher, 'SIGKILL');
    await service.exited;
    service = startService(home);
    const after = await service.ready;
    expect(after.api_token).toBe(before.api_token);
    expect(await isWell(after)).toBe(true);
    const { launcher, coordinator, nats, postgres, probes } = before.pids;
    const olds = await Promise.all(
      [launcher, coordinator, nats, postgres, ...Object.values(probes)].map(findProcess),
    );
    expect(olds.filter((old) => old !== undefined)).toEqual([]);
  });

  test('Ctrl-C stops everything and leaves nothing running', async () => {
    await service.ready;
    const stopped = await stopService(service);
    expect(stopped).toBe(0);
    expect(await processesOf(home)).toEqual([]);
    await expect(stat(join(home, 'local.json'))).rejects.toThrow('ENOENT');
  });
});
