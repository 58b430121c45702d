import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { newId } from '../../../shared/base/crypto.ts';
import { parentsFirst } from '../../../shared/client/files/calls.ts';
import { readConfiguration } from '../../../shared/client/files/configuration.ts';
import { readDocument } from '../../../shared/imports/document.ts';
import { openServed, type Served } from '../../support/api.ts';
import { createCommand } from '../../support/cli.ts';
import { portOf } from '../../support/connections.ts';
import { createTestOrganisation } from '../../support/people.ts';
import fc from '../../support/random.ts';

let served: Served;
const folder = mkdtempSync(join(tmpdir(), 'antipode-file-'));
beforeAll(async () => {
  served = await openServed();
});
afterAll(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

const inFile = (text: string): string => {
  const path = join(folder, `${newId()}.yaml`);
  writeFileSync(path, text);
  return path;
};

const account = async () => {
  const house = await createTestOrganisation(served.api.sql, { plan: 'business' });
  return createCommand({ url: served.url, token: house.owner.readWrite });
};

const shop = `name: shop
x-https: &https { type: https, tags: [shop] }
defaults:
  monitors: { interval_s: 30, config: { expected_status: [2xx] } }
groups:
  web: {}
monitors:
  checkout:
    <<: *https
    target: https://shop.example/checkout
    group: web
    config: { bearer_token: "\${TOKEN}" }
  "{each.country}-front":
    for_each:
      - { country: de, path: /start }
      - { country: fr, path: /debut }
    type: https
    target: "https://{each.country}.shop.example{each.path}"
channels:
  pager:
    kind: webhook
    config: { url: https://hooks.example/a, secret: "file:SECRET" }
    covers: chosen
    monitors: [checkout, de-front]
`;

describe('a file', () => {
  test('is planned, applied, and then has nothing to do', async () => {
    const command = await account();
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'whsec_cGxlYXNlIG1ha2Ugb25lIG9mIHlvdXIgb3duIGhlcmU=\n');
    const file = inFile(shop.replace('SECRET', secret));
    const world = { environment: { TOKEN: 'first' } };

    const plan = await command.run(['plan', '--file', file], world);
    expect(plan).toMatchObject({ code: 2, err: '' });
    expect(plan.out).toContain('+ monitor checkout\n');
    expect(plan.out).toContain('5 to create.');
    expect(await command.run(['apply', '--file', file], world)).toMatchObject({ code: 2 });
    const asked = await command.run(['apply', '--file', file], {
      ...world,
      terminal: true,
      answer: 'n',
    });
    expect(asked).toMatchObject({ code: 2, asked: ['Apply it? [y/N] '] });
    expect((await command.json('monitors', 'list')).items).toEqual([]);

    expect((await command.run(['apply', '--file', file, '--yes'], world)).code).toBe(0);
    const monitors = parse((await command.run(['monitors', 'list', '--json'])).out).items;
    expect(monitors.map(({ target }: { target: string }) => target)).toEqual([
      'https://shop.example/checkout',
      'https://de.shop.example/start',
      'https://fr.shop.example/debut',
    ]);
    expect(monitors[0]).toMatchObject({
      interval_s: 30,
      tags: ['shop'],
      config: { expected_status: ['2xx'], bearer_token: '***' },
    });
    expect(await command.run(['plan', '--file', file], world)).toMatchObject({ code: 0 });

    const other = { environment: { TOKEN: 'second' } };
    const changed = await command.run(['plan', '--file', file], other);
    expect(changed.code).toBe(2);
    expect(changed.out).toContain('~ monitor checkout\n    secrets: another\n');
    expect(changed.out).not.toContain('second');
    const missing = await command.run(['plan', '--file', file]);
    expect(missing.code).toBe(1);
    expect(missing.err).toContain('checkout.config.bearer_token: the variable TOKEN is not set.');
  });

  test('deletes only with --prune, and says of refusals where they stand', async () => {
    const command = await account();
    const file = inFile(
      'name: shop\nmonitors:\n  a: { type: https, target: https://a.example/ }\n',
    );
    await command.run(['apply', '--file', file, '--yes']);
    const without = inFile('name: shop\n');
    const kept = await command.run(['plan', '--file', without]);
    expect(kept).toMatchObject({ code: 0 });
    expect(kept.out).toContain('= monitor a: the file has it no more; --prune deletes it');
    expect(await command.run(['plan', '--file', without, '--prune'])).toMatchObject({ code: 2 });
    await command.run(['apply', '--file', without, '--prune', '--yes']);
    expect((await command.json('monitors', 'list')).items).toEqual([]);

    const wrong = inFile(
      'name: shop\nmonitors:\n  a:\n    type: https\n    target: https://a.example/\n    group: nowhere\n',
    );
    const refused = await command.run(['apply', '--file', wrong, '--yes']);
    expect(refused.code).toBe(1);
    expect(refused.out).toContain(`! monitor a: there is no group "nowhere"`);
    expect(refused.out).toContain(`${wrong}:3:3`);
  });

  test('with --skip-refused applies the rest, and lists what was left out and why', async () => {
    const command = await account();
    const file = inFile(
      [
        'name: shop',
        'monitors:',
        '  a: { type: https, target: https://a.example/ }',
        '  b: { type: https, target: https://b.example/, group: nowhere }',
        'maintenance:',
        '  m: { starts_at: 2099-01-01T00:00:00Z, ends_at: 2099-01-01T01:00:00Z, monitors: [b] }',
        '',
      ].join('\n'),
    );
    expect((await command.run(['apply', '--file', file, '--yes'])).code).toBe(1);
    expect((await command.json('monitors', 'list')).items).toEqual([]);
    const done = await command.run(['apply', '--file', file, '--yes', '--skip-refused']);
    expect(done.code).toBe(1);
    expect(done.out).toContain('! monitor b: there is no group "nowhere"');
    expect(done.out).toContain('! maintenance m: the monitor "b" is refused itself.');
    expect(done.out).toContain('Done: 1 to create, 2 refused.');
    expect((await command.json('monitors', 'list')).items).toMatchObject([{ name: 'a' }]);
    const pruned = await command.run(['apply', '--file', file, '--skip-refused', '--prune']);
    expect(pruned.code).toBe(2);
    expect(pruned.err).toContain('--skip-refused does not go with --prune');
  });

  test('that was cut off is finished by the next', async () => {
    const command = await account();
    const monitors = Array.from(
      { length: 450 },
      (_, n) => `  m-${n}: { type: https, target: "https://m-${n}.example/", interval_s: 60 }`,
    );
    const file = inFile(`name: many\nmonitors:\n${monitors.join('\n')}\n`);
    const part = await fetch(`${served.url}/api/v1/files/many/apply`, {
      method: 'POST',
      headers: { authorization: `Bearer ${command.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        monitors: Object.fromEntries(
          Array.from({ length: 200 }, (_, n) => [
            `m-${n}`,
            { type: 'https', target: `https://m-${n}.example/` },
          ]),
        ),
      }),
    });
    expect(part.status).toBe(200);
    const rest = await command.run(['apply', '--file', file, '--yes'], { terminal: true });
    expect(rest.code).toBe(0);
    expect(rest.out).toContain('Done: 250 to create, 200 unchanged.');
    expect(rest.err).toContain('450 of 450 monitors');
    expect(await command.run(['plan', '--file', file])).toMatchObject({ code: 0 });
  });

  test('shows every fault of forty, with its place, without a service', async () => {
    const lines = Array.from(
      { length: 40 },
      (_, n) => `  m-${n}: { type: https, intervall_s: 30 }`,
    );
    const file = inFile(`name: faulty\nmonitors:\n${lines.join('\n')}\n`);
    const command = createCommand({ url: 'http://127.0.0.1:9', token: 'none' });
    const { code, err } = await command.run(['validate', '--file', file]);
    expect(code).toBe(1);
    const places = err.split('\n').flatMap((line) => /:(\d+:\d+): monitors/.exec(line)?.[1] ?? []);
    expect(places).toEqual(Array.from({ length: 40 }, (_, n) => `${n + 3}:${n < 10 ? 23 : 24}`));
    expect(err).toContain('40 faults');
  });

  test.each([
    ['a cycle', 'a: &a [*a]', /leads back/],
    [
      'a bomb',
      Array.from(
        { length: 9 },
        (_, n) =>
          `a${n}: &a${n} [${Array.from({ length: 10 }, () => (n === 0 ? 'x' : `*a${n - 1}`)).join(', ')}]`,
      ).join('\n'),
      /aliases make more/,
    ],
    ['ten megabytes', `x-a: "${'y'.repeat(10_000_000)}"`, /2 MiB are the most/],
    ['no YAML', 'a: [', /./],
    ['a missing anchor', 'a: *b', /./],
    ['a deep nest', `a: ${'['.repeat(100)}${']'.repeat(100)}`, /levels deep/],
  ])('that is %s ends at once with a sentence', (_, text, sentence) => {
    const { faults } = readDocument('f.yaml', text);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toMatch(sentence);
  });

  test('takes no secret in the open, and no key twice', () => {
    const texts = [
      {
        file: 'a.yaml',
        text: 'name: x\nmonitors:\n  a: { type: https, target: https://a.example/, config: { bearer_token: open } }\n',
      },
      {
        file: 'b.yaml',
        text: 'name: x\nmonitors:\n  a: { type: https, target: https://b.example/ }\n',
      },
    ];
    const { faults } = readConfiguration(texts, undefined);
    expect(faults.map(({ file, line, message }) => [file, line, message])).toEqual([
      ['a.yaml', 3, 'a secret stands in no file: write it as $' + '{NAME} or file:PATH.'],
      ['b.yaml', 3, 'a.yaml:3 has "a" already.'],
    ]);
  });
});

test('a file that is sent in parts names parents before whom depends on them', () => {
  const order = (monitors: Record<string, string[]>) =>
    parentsFirst(
      Object.fromEntries(
        Object.entries(monitors).map(([key, depends_on_monitors]) => [
          key,
          { depends_on_monitors },
        ]),
      ),
    ).map(([key]) => key);
  expect(order({ shop: ['gateway', 'elsewhere'], mail: [], gateway: ['isp'], isp: [] })).toEqual([
    'isp',
    'gateway',
    'shop',
    'mail',
  ]);
  expect(order({ a: ['b'], b: ['a'] })).toEqual(['b', 'a']);
});

/** Whatever an account has and however it changes, its own file changes nothing in it. */
describe('export', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 30 }).filter((text) => text.trim() !== ''),
    fc.constantFrom('Shop', 'shop', 'Shop 日本', 'a/b', '✓', '-'),
  );
  const monitor = fc.record(
    {
      type: fc.constant('https'),
      target: fc.constantFrom(
        'https://a.example/',
        'https://b.example/x?y=1',
        'http://c.example:81/',
      ),
      name,
      interval_s: fc.constantFrom(30, 60, 300),
      config: fc.record(
        {
          expected_status: fc.constantFrom(['2xx'], [200, 204]),
          timeout_ms: fc.integer({ min: 1_000, max: 20_000 }),
          bearer_token: fc.constant('hidden'),
          headers: fc.constant({ 'X-One': '1', 'X-Api-Key': 'hidden' }),
          continents: fc.constantFrom(['Europe'], ['Asia', 'Europe']),
        },
        { requiredKeys: [] },
      ),
      affects_group_status: fc.boolean(),
      tags: fc.subarray(['eu', 'shop', 'x']),
      external_id: fc.uuid(),
      runbook: fc.constantFrom('1. Stop\n2. Start', `$\{NAME} $\{no name} $$\{NAME}`),
    },
    { requiredKeys: ['type', 'target', 'name'] },
  );
  const heartbeat = fc.record(
    {
      type: fc.constant('heartbeat'),
      name,
      interval_s: fc.integer({ min: 60, max: 100_000 }),
      config: fc.record({ grace_s: fc.integer({ min: 60, max: 600 }) }),
    },
    { requiredKeys: ['type', 'name'] },
  );
  const channel = fc.record(
    {
      kind: fc.constantFrom('webhook'),
      name: fc.constantFrom('Pager', 'Mail', 'pager'),
      config: fc.constant({ url: 'https://hooks.example/x' }),
      enabled: fc.boolean(),
      delay_s: fc.integer({ min: 0, max: 600 }),
      reminder_s: fc.integer({ min: 600, max: 6_000 }),
      warnings: fc.boolean(),
      hours: fc.constant({
        zone: 'Europe/Berlin',
        spans: [{ days: [1, 2], from: '09:00', to: '17:00' }],
      }),
      try: fc.constant(false),
    },
    { requiredKeys: ['kind', 'config', 'try'] },
  );
  const window = fc.record(
    {
      name,
      starts_at: fc.constantFrom('2036-11-24T02:00', '2036-11-24T02:00Z'),
      ends_at: fc.constantFrom('2036-11-24T09:00', '2036-11-24T09:30Z'),
      rrule: fc.constantFrom('FREQ=WEEKLY;BYDAY=MO', 'FREQ=MONTHLY'),
      time_zone: fc.constantFrom('Europe/Berlin', 'America/New_York'),
    },
    { requiredKeys: ['starts_at', 'ends_at'] },
  );
  const page = fc.record(
    {
      name,
      description: fc.constantFrom('What is up', 'x: y # z'),
      enabled: fc.boolean(),
      language: fc.constantFrom('en', 'de', 'fr', 'es'),
    },
    { requiredKeys: ['name'] },
  );
  const all = fc.record({
    groups: fc.uniqueArray(fc.constantFrom<string>('Web', 'Jobs', 'a b', '日本'), { maxLength: 3 }),
    monitors: fc.array(fc.oneof(monitor, heartbeat), { minLength: 1, maxLength: 5 }),
    channels: fc.array(channel, { maxLength: 2 }),
    windows: fc.array(window, { maxLength: 2 }),
    pages: fc.array(page, { maxLength: 1 }),
    grouped: fc.boolean(),
    paused: fc.boolean(),
  });

  test('writes a text that looks like a variable so that it stays a text', async () => {
    const command = await account();
    const name = `\${HOME} and $\${HOME}`;
    await command.json(
      ...[
        'monitors',
        'create',
        '--type',
        'https',
        '--target',
        'https://a.example/',
        '--name',
        name,
      ],
    );
    const first = inFile((await command.run(['export', '--name', 'all'])).out);
    expect((await command.run(['apply', '--file', first, '--yes'])).code).toBe(0);
    expect((await command.json('monitors', 'list')).items).toMatchObject([{ name }]);
  });

  test('leaves out a window that lost its only monitor, and says what another file manages', async () => {
    const command = await account();
    const theirs = inFile(
      'name: other\nmonitors:\n  theirs: { type: https, target: https://b.example/ }\n',
    );
    await command.run(['apply', '--file', theirs, '--yes']);
    const lost = await command.json(
      ...['monitors', 'create', '--type', 'https', '--target', 'https://a.example/'],
    );
    const mine = inFile(
      `name: all\nmonitors:\n  a: { id: ${lost.id}, type: https, target: https://a.example/ }\nmaintenance:\n  m: { starts_at: 2099-01-01T00:00:00Z, ends_at: 2099-01-01T01:00:00Z, monitors: [a] }\n`,
    );
    expect((await command.run(['apply', '--file', mine, '--yes'])).code).toBe(0);
    await command.run(['monitors', 'delete', String(lost.id), '--yes']);
    const text = await command.run(['export', '--name', 'all']);
    expect(text.err).toContain('Maintenance m covers nothing any more, and is left out.');
    expect(text.err).toContain(
      '1 object that file other manages is left out; --name other exports it.',
    );
    expect(await command.run(['plan', '--file', inFile(text.out)])).toMatchObject({ code: 0 });
  });

  test('then apply, then plan: nothing, for every object and every field', async () => {
    await fc.assert(
      fc.asyncProperty(all, all, async (first, second) => {
        const house = await createTestOrganisation(served.api.sql, { plan: 'business' });
        const command = createCommand({ url: served.url, token: house.owner.readWrite });
        const call = async (method: string, path: string, body: object) => {
          const response = await fetch(`${served.url}/api/v1/${path}`, {
            method,
            headers: {
              authorization: `Bearer ${house.owner.readWrite}`,
              'content-type': 'application/json',
            },
            body: JSON.stringify(body),
          });
          const text = await response.text();
          expect([response.status < 300, text]).toEqual([true, text]);
          return JSON.parse(text);
        };
        const furnish = async (of: typeof first): Promise<void> => {
          const groups: string[] = [];
          for (const one of of.groups)
            groups.push((await call('POST', 'groups', { name: one })).id);
          const monitors: string[] = [];
          for (const one of of.monitors)
            monitors.push(
              (
                await call('POST', 'monitors', {
                  ...one,
                  ...(of.grouped && groups[0] && { group: groups[0] }),
                  depends_on_monitors: monitors.slice(0, 1),
                  depends_on_groups: groups.slice(1),
                })
              ).id,
            );
          if (of.paused) await call('PATCH', `monitors/${monitors[0]}`, { enabled: false });
          for (const one of of.channels)
            await call('POST', 'channels', {
              ...one,
              covers: 'chosen',
              monitors: monitors.slice(0, 2),
              groups,
            });
          for (const one of of.windows)
            await call('POST', 'maintenance', { ...one, monitors: monitors.slice(0, 1), groups });
          for (const one of of.pages) {
            const { id } = await call('POST', 'status-pages', { ...one, slug: newId() });
            await call('PATCH', `status-pages/${id}`, {
              accent: '#0a5bb5',
              rows: [
                ...groups.slice(0, 1).map((group) => ({ group, display_name: 'Heading' })),
                ...monitors.slice(0, 2).map((each) => ({ monitor: each })),
              ],
            });
          }
        };
        const settle = async (): Promise<void> => {
          const exported = await command.run(['export', '--name', 'all']);
          expect(exported.code).toBe(0);
          const file = inFile(exported.out);
          const applied = await command.run(['apply', '--file', file, '--yes']);
          expect([applied.code, applied.err, applied.out]).toEqual([0, '', applied.out]);
          const plan = await command.run(['plan', '--file', file]);
          expect([plan.code, plan.err, plan.out]).toEqual([0, '', plan.out]);
          const again = inFile((await command.run(['export', '--name', 'all'])).out);
          const next = await command.run(['plan', '--file', again, '--prune']);
          expect([next.code, next.out]).toEqual([0, next.out]);
        };
        await furnish(first);
        await settle();
        await furnish({ ...second, groups: second.groups.map((each) => `${each} two`) });
        await settle();
      }),
      { numRuns: 12 },
    );
  }, 120_000);
});

describe('a move', () => {
  /** A database as Kuma 2 has it, as far as it is read: a hundred monitors of five types. */
  const kumaOf100 = (): string => {
    const path = join(folder, `${newId()}.db`);
    const database = new DatabaseSync(path);
    database.exec(`
      create table monitor (id integer primary key, name text, type text, active boolean, parent integer,
        interval integer, url text, hostname text, port integer, keyword text, maxretries integer,
        accepted_statuscodes_json text, dns_resolve_type text, dns_resolve_server text, json_path text,
        expected_value text, push_token text);
      create table tag (id integer primary key, name text, color text);
      create table monitor_tag (id integer primary key, monitor_id integer, tag_id integer, value text);
      create table notification (id integer primary key, name text, active boolean, config text);
      create table monitor_notification (id integer primary key, monitor_id integer, notification_id integer);
      create table setting (id integer primary key, key text, value text);
      insert into tag values (1, 'shop', '#fff');
      insert into notification values (1, 'Ops', 1, '{"type":"webhook","webhookURL":"https://hooks.example/ops"}');
      insert into monitor (id, name, type, active) values (1, 'Web', 'group', 1);`);
    const insert = database.prepare(
      "insert into monitor values (?, ?, ?, ?, 1, 60, ?, ?, ?, ?, 1, '[\"200-299\"]', 'A', '1.1.1.1', 'state', 'ok', ?)",
    );
    const types = ['http', 'keyword', 'json-query', 'dns', 'push'];
    for (let id = 2; id <= 100; id += 1) {
      const type = types[id % types.length] ?? 'http';
      const [host, port] = [`host-${id}.example`, type === 'dns' ? 53 : 443];
      insert.run(
        id,
        `Monitor ${id}`,
        type,
        id % 10 === 0 ? 0 : 1,
        `https://${host}/`,
        host,
        port,
        'ok',
        't',
      );
    }
    database.exec('insert into monitor_tag select id, id, 1, null from monitor where id < 50');
    database.exec('insert into monitor_notification select id, id, 1 from monitor where id > 90');
    database.close();
    return path;
  };

  test('of a Kuma of 100 monitors takes three commands, and its database stays as it is', async () => {
    const command = await account();
    const [database, file] = [kumaOf100(), join(folder, 'moved.yaml')];
    const before = readFileSync(database);
    const world = { environment: { OPS_WEBHOOKURL: 'https://hooks.example/ops' } };

    const imported = await command.run(['import', 'uptime-kuma', database, '--out', file]);
    expect(imported).toMatchObject({ code: 0, out: '' });
    expect(imported.err).toContain('its ping address is a new one; enter it in the job.');
    expect(imported.err).toContain('- OPS_WEBHOOKURL: webhookURL of Ops');
    expect(imported.err).toContain(`101 objects in ${file}`);
    expect(await command.run(['validate', '--file', file])).toMatchObject({ code: 0, err: '' });
    const plan = await command.run(['plan', '--file', file], world);
    expect(plan.out).toContain('101 to create.');
    expect(plan).toMatchObject({ code: 2, err: '' });
    const applied = await command.run(['apply', '--file', file, '--yes'], world);
    expect(applied).toMatchObject({ code: 0, err: '' });
    expect(await command.run(['plan', '--file', file], world)).toMatchObject({ code: 0 });

    const monitors = (await command.json('monitors', 'list', '--all')).items;
    expect(monitors).toHaveLength(99);
    expect(monitors).toContainEqual(
      expect.objectContaining({
        name: 'Monitor 20',
        type: 'https',
        enabled: false,
        tags: ['shop'],
      }),
    );
    expect(readFileSync(database).equals(before)).toBe(true);
  });

  test('overwrites nothing, and says what is wrong with its source', async () => {
    const command = await account();
    const there = inFile('name: mine\n');
    const backup = join(folder, 'backup.json');
    writeFileSync(
      backup,
      JSON.stringify({ monitorList: [{ name: 'A', type: 'http', url: 'https://a.example/' }] }),
    );
    const over = await command.run(['import', 'uptime-kuma', backup, '--out', there]);
    expect(over).toMatchObject({ code: 2 });
    expect(over.err).toContain('is there already; choose another name with --out.');
    expect(readFileSync(there, 'utf8')).toBe('name: mine\n');
    const printed = await command.run(['import', 'uptime-kuma', backup, '--name', 'shop']);
    expect(parse(printed.out)).toMatchObject({ name: 'shop', monitors: { a: { type: 'https' } } });

    const [odd, wrong] = [join(folder, 'odd.db'), join(folder, 'wrong.json')];
    const database = new DatabaseSync(odd);
    database.exec('create table other (id integer)');
    database.close();
    writeFileSync(wrong, '{"hello": 1}');
    for (const [line, code, sentence] of [
      [['uptime-kuma', odd], 2, 'it has no table monitor'],
      [['uptime-kuma', wrong], 1, 'This is no backup of Uptime Kuma'],
      [['uptime-kuma', join(folder, 'nowhere')], 2, 'cannot be read (ENOENT)'],
      [['gatus', inFile('endpoints: [')], 1, ':1:'],
      [['gatus', inFile('a: 1')], 1, 'it has no `endpoints`'],
      [['pingdom', wrong], 2, 'There is no source "pingdom"; there are: uptime-kuma'],
      [['healthchecks'], 2, 'set HEALTHCHECKS_API_KEY'],
      [['gatus'], 2, 'import gatus needs a file'],
    ] as const) {
      const refused = await command.run(['import', ...line]);
      expect(refused.code, refused.err).toBe(code);
      expect(refused.err).toContain(sentence);
      expect(refused.out).toBe('');
    }
    expect((await command.run(['import', '--help'])).out).toContain(
      'antipode import SOURCE [FILE …]',
    );
  });

  test('by an API takes its key from the environment or a file, and never shows it', async () => {
    const command = await account();
    const keys: unknown[] = [];
    const service = createServer((request, response) => {
      keys.push(request.headers['x-api-key']);
      const isKnown = request.headers['x-api-key'] === 'hc-right-key';
      response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ checks: [{ name: 'Job', timeout: 3_600, grace: 60 }] }));
    });
    const port = await portOf(service);
    const url = `http://127.0.0.1:${port}`;
    const line = ['import', 'healthchecks', '--url', url];
    const found = await command.run(line, {
      environment: { HEALTHCHECKS_API_KEY: 'hc-right-key' },
    });
    expect(found.code).toBe(0);
    expect(parse(found.out).monitors.job).toMatchObject({ type: 'heartbeat', interval_s: 3_600 });
    const keyFile = inFile('hc-wrong-key\n');
    const refused = await command.run([...line, '--key-file', keyFile]);
    expect(refused).toMatchObject({ code: 3, out: '' });
    expect(refused.err).toContain('Healthchecks does not accept this key');
    expect(keys).toEqual(['hc-right-key', 'hc-wrong-key']);
    const mistyped = [
      'import',
      'healthchecks',
      '--url',
      'https://my server',
      '--key-file',
      keyFile,
    ];
    expect((await command.run(mistyped)).err).toContain('--url: enter the address of the service');
    expect(found.out + found.err + refused.err).not.toMatch(/hc-(?:right|wrong)-key/);
    await new Promise((resolve) => service.close(resolve));
  });
});
