import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { commandName, UsageFault } from '../../../shared/base/env.ts';
import { readLine, valuesOf } from '../../../shared/client/arguments.ts';
import { everywhere, withTimes } from '../../../shared/client/calls.ts';
import { commands } from '../../../shared/client/commands.ts';
import { exits } from '../../../shared/client/http.ts';
import { openServed, type Served } from '../../support/api.ts';
import { createCommand } from '../../support/cli.ts';
import { portOf } from '../../support/connections.ts';
import { rowsFor } from '../../support/rows.ts';

const now = Date.parse('2027-03-01T12:00:00.500Z');

const timed = (...given: string[]): Record<string, unknown> => {
  const line = readLine(given, new Set());
  const command = commands.find((one) => commandName(one) === line.words.slice(0, 2).join(' '));
  if (!command) throw new Error('no such command');
  const values = valuesOf({ ...command, flags: [...command.flags, ...everywhere] }, line, () => '');
  return Object.fromEntries(
    withTimes(command, values, now).flatMap(({ flag: { name }, value }) =>
      name === 'for' ? [] : [[name, value]],
    ),
  );
};

describe('times on the command line', () => {
  test('are now, a duration from now or ago, and an absolute time stays as it is', () => {
    const at = (text: string) => timed('maintenance', 'create', '--starts-at', text)['starts-at'];
    expect(at('now')).toBe('2027-03-01T12:00:00Z');
    expect(at('+10m')).toBe('2027-03-01T12:10:00Z');
    expect(at('-2h')).toBe('2027-03-01T10:00:00Z');
    expect(at('+1d')).toBe('2027-03-02T12:00:00Z');
    for (const text of ['2027-01-01T02:00', '2027-01-01T02:00:00+02:00', 'soon', '+10 parsecs'])
      expect(at(text)).toBe(text);
    expect(timed('maintenance', 'create', '--name', 'now').name).toBe('now');
  });

  test('--for is the end of what begins at its start, by the same clock, or now', () => {
    expect(timed('maintenance', 'create', '--for', '10m')).toEqual({
      'starts-at': '2027-03-01T12:00:00Z',
      'ends-at': '2027-03-01T12:10:00Z',
    });
    expect(
      timed('maintenance', 'create', '--starts-at', '2027-01-01T02:00', '--for', '2h')['ends-at'],
    ).toBe('2027-01-01T04:00:00');
    expect(
      timed('maintenance', 'create', '--starts-at', '2027-01-01T02:00+02:00', '--for', '1d')[
        'ends-at'
      ],
    ).toBe('2027-01-02T00:00:00Z');
    expect(
      timed('maintenance', 'update', 'x', '--starts_at', '+1h', '--for', '30min')['ends-at'],
    ).toBe('2027-03-01T13:30:00Z');
  });

  test.each<[string, string[], string]>([
    ['where nothing lasts', ['monitors', 'list', '--for', '10m'], '--for has no meaning there'],
    ['no length', ['maintenance', 'create', '--for', 'long'], '--for takes a length such as 10m'],
    [
      'nothing at all',
      ['maintenance', 'create', '--for', '0m'],
      '--for takes a length such as 10m',
    ],
    ['two ends', ['maintenance', 'create', '--for', '10m', '--ends-at', 'now'], 'leave one out'],
    ['a change without a start', ['maintenance', 'update', 'x', '--for', '10m'], 'must be given'],
    [
      'a start that is none',
      ['maintenance', 'create', '--starts-at', 'soon', '--for', '10m'],
      'not "soon"',
    ],
  ])('%s is told what to do', (_, given, message) => {
    expect(() => timed(...given)).toThrow(UsageFault);
    expect(() => timed(...given)).toThrow(message);
  });
});

describe('names and ends of ids', () => {
  let served: Served;
  let command: ReturnType<typeof createCommand>;
  beforeAll(async () => {
    served = await openServed();
    command = createCommand({ url: served.url, token: served.house.member.readWrite });
  });
  afterAll(() => served.close());

  test('of a place are its id, with its slash, or its name; monitors are made by both', async () => {
    const at = { id: newId(), name: 'ams-1', continent: 'Europe', region: 'Amsterdam' };
    const seen = { last_seen_at: new Date(), kinds: ['places'] };
    await served.api
      .sql`insert into probes ${rowsFor(served.api.sql, 'probes', { ...at, ...seen })}`;
    for (const called of ['Europe/Amsterdam', 'Amsterdam'])
      expect(await command.json('places', 'get', called)).toMatchObject({
        id: 'Europe/Amsterdam',
        probes: [{ id: at.id }],
      });
    const target = ['--type', 'https', '--target', 'https://places.example/'];
    const places = ['--config.places', '["Amsterdam"]'];
    expect(await command.json('monitors', 'create', ...target, ...places)).toMatchObject({
      config: { places: ['Europe/Amsterdam'] },
    });
  });

  test('are accepted for ids, in words and in flags, where exactly one resource is called so', async () => {
    const { run, json } = command;
    const made = async (name: string) =>
      String(
        (
          await json(
            'monitors',
            'create',
            '--type',
            'https',
            '--target',
            `https://${name}.example/`,
            '--name',
            name,
          )
        ).id,
      );
    const [shop, till] = [await made('shop'), await made('till')];
    const group = String((await json('groups', 'create', '--name', 'Front of house')).id);
    expect(await json('monitors', 'get', 'shop')).toMatchObject({ id: shop });
    expect(await json('monitors', 'status', till.slice(-8))).toMatchObject({ monitor: till });
    expect(await json('monitors', 'get', `…${till.slice(-8).toUpperCase()}`)).toMatchObject({
      id: till,
    });
    expect(await json('monitors', 'update', 'shop', '--group', 'Front of house')).toMatchObject({
      id: shop,
      group,
    });
    const window = await json(
      'maintenance',
      'create',
      '--monitor',
      'shop',
      '--monitor',
      'till',
      '--group',
      'Front of house',
      '--for',
      '10m',
    );
    expect(window).toMatchObject({
      monitors: expect.arrayContaining([shop, till]),
      groups: [group],
    });

    await made('shop');
    expect(await run(['monitors', 'get', 'shop'])).toMatchObject({
      code: exits.usage,
      out: '',
      err: expect.stringMatching(new RegExp(`"shop" fits 2 in monitors[\\s\\S]*${shop} {2}shop`)),
    });
    expect(await run(['monitors', 'get', 'nowhere'])).toMatchObject({
      code: exits.refused,
      err: expect.stringContaining('called "nowhere"'),
    });
    // A name of another kind of thing is nothing here, and what is shorter than four signs is no
    // end of an id.
    expect((await run(['groups', 'get', 'till'])).code).toBe(exits.refused);
    expect((await run(['monitors', 'get', till.slice(-3)])).code).toBe(exits.refused);
  });

  test('a table shows ends of ids that are enough for a command, and the fields that were asked for', async () => {
    const { run, json } = command;
    const [first] = (await json('monitors', 'list')).items as { id: string; name: string }[];
    const { out } = await run(['monitors', 'list'], { terminal: true, columns: 60 });
    const end =
      out
        .split('\n')
        .find((line) => line.includes(first?.name ?? '?'))
        ?.trim()
        .split(/\s+/)
        .at(-1) ?? '';
    expect(end.length).toBeLessThan(36);
    expect(await json('monitors', 'get', end)).toMatchObject({ id: first?.id });

    expect(
      (await run(['monitors', 'list', '--fields', 'target,name', '--no-color'], { terminal: true }))
        .out,
    ).toMatch(/^target +name\nhttps:/);
    const chosen = await json(
      'monitors',
      'list',
      '--fields',
      'name, config.method',
      '--limit',
      '1',
    );
    expect(chosen).toEqual({
      items: [{ name: expect.any(String) }],
      next_cursor: expect.any(String),
    });
    const unknown = await run(['monitors', 'list', '--fields', 'nmae']);
    expect(unknown).toMatchObject({
      code: exits.done,
      err: expect.stringMatching(/nothing here has nmae; there are id, name/),
    });
  });

  test('a piped list that stopped says that there is more, and not where its length was asked for', async () => {
    const { run, json } = command;
    let last = '';
    for (let nth = 0; nth < 51; nth += 1)
      last = String((await json('groups', 'create', '--name', `group ${nth}`)).id);
    const stopped = await run(['groups', 'list']);
    expect(stopped.err).toBe(
      'antipode: only the first 50 are here, there are more: --all gives all of them\n',
    );
    for (const more of [['--all'], ['--limit', '10']])
      expect((await run(['groups', 'list', ...more])).err).toBe('');

    // Events are listed once no older transaction may still write one: another test's holds them
    // back, as it is on the same server.
    await expect
      .poll(async () => JSON.stringify(await json('events', 'list', '--limit', '200')))
      .toContain(last);
    // What changed goes on by `after`, and is a list like the others.
    const changes = await run(['events', 'list']);
    expect(changes.err).toBe(
      'antipode: only the first 50 are here, there are more: --all gives all of them\n',
    );
    const all = await json('events', 'list', '--all', '--limit', '20');
    expect(all).toMatchObject({ more: false, after: expect.any(String) });
    expect(all).not.toHaveProperty('next_cursor');
    expect(all.items).toEqual((await json('events', 'list', '--limit', '200')).items);
    expect((await run(['events', 'list', '--all'])).err).toBe('');
    expect((await run(['events', 'list', '--help'])).out).toContain(
      '--all walks all pages; --after goes on where a page ended',
    );
  });
});

test('an end of an id is looked up as far back as a list goes, and in the list of the resource that was named before it', async () => {
  const [page, post, incident] = [
    '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f',
    '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d0001',
    '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d0002',
  ];
  const asked: string[] = [];
  const items: Readonly<Record<string, unknown>> = {
    '/api/v1/status-pages': { id: page, slug: 'shop' },
    [`/api/v1/status-pages/${page}/posts`]: { id: post },
    '/api/v1/incidents': { id: incident },
  };
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const item = items[request.url?.split('?')[0] ?? ''];
    const isList = request.method === 'GET' && item !== undefined;
    response.writeHead(isList ? 200 : 204, { 'content-type': 'application/json' });
    response.end(isList ? JSON.stringify({ items: [item], next_cursor: null }) : '');
  });
  const port = await portOf(server);
  const { run } = createCommand({
    url: `http://127.0.0.1:${port}`,
    token: 'svc_a',
  });
  try {
    const deletion = commands.find(({ operation }) => operation.id === 'deleteStatusPagePost');
    expect((await run([...(deletion?.words ?? []), 'shop', '2d0001'])).err).toBe('');
    expect(asked.splice(0)).toEqual([
      'GET /api/v1/status-pages?limit=200',
      `GET /api/v1/status-pages/${page}/posts?limit=200`,
      `DELETE /api/v1/status-pages/${page}/posts/${post}`,
    ]);
    expect((await run(['incidents', 'get', '2d0002'])).err).toBe('');
    expect(asked).toEqual([
      'GET /api/v1/incidents?limit=200&days=365',
      `GET /api/v1/incidents/${incident}`,
    ]);
  } finally {
    server.close();
  }
});

test('errors that may pass have an exit code of their own', async () => {
  const server = createServer(
    (_, response) =>
      void response.writeHead(503).end('{"error":{"code":"unavailable","message":"Not now"}}'),
  );
  const port = await portOf(server);
  const url = `http://127.0.0.1:${port}`;
  try {
    expect(await createCommand({ url, token: 'svc_a' }).run(['whoami'])).toMatchObject({
      code: exits.later,
      out: '',
    });
  } finally {
    server.close();
  }
});
