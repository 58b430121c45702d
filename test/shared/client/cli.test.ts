import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../shared/checks/kinds.ts';
import { type Exit, exits } from '../../../shared/client/http.ts';
import { openServed, type Served } from '../../support/api.ts';
import { createCommand, type Ran, type World } from '../../support/cli.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { debianProgram, machineNode, runProgram } from '../../support/processes.ts';

const unknownId = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

const zsh = await debianProgram('zsh', ['zsh', 'zsh-common']);

let served: Served;
let house: TestOrganisation;
let unknownSender: TestOrganisation;
let url: string;

beforeAll(async () => {
  served = await openServed();
  ({ house, url } = served);
  unknownSender = await createTestOrganisation(served.api.sql);
  command = createCommand({ url, token: house.member.readWrite });
});

afterAll(() => served.close());

let command: ReturnType<typeof createCommand>;
const run = (line: readonly string[], world?: World): Promise<Ran> => command.run(line, world);
const json = (...line: string[]): Promise<Record<string, unknown>> => command.json(...line);

const id = (thing: Record<string, unknown>): string => String(thing.id);
const makeMonitor = (target: string, ...more: string[]) =>
  json('monitors', 'create', '--type', 'https', '--target', target, ...more);

describe('antipode', () => {
  test('takes a monitor through its whole life, one call a command', async () => {
    expect(await json('whoami')).toMatchObject({
      role: 'member',
      scope: 'read_write',
      organisation: { id: house.organisation },
    });
    const group = await json('groups', 'create', '--name', 'Shops');
    const made = await makeMonitor(
      'https://example.com/',
      '--interval-s',
      '60',
      '--config.timeout_ms',
      '5000',
      '--group',
      id(group),
    );
    expect(made).toMatchObject({
      target: 'https://example.com/',
      interval_s: 60,
      config: { timeout_ms: 5000 },
      group: group.id,
    });
    expect(await json('monitors', 'update', id(made), '--no-enabled', '--ungroup')).toMatchObject({
      enabled: false,
      group: null,
    });
    expect(await json('monitors', 'status', id(made), '--days', '7')).toMatchObject({
      status: 'paused',
      uptime: { days: 7 },
    });
    const gateway = await makeMonitor('https://gate.example/');
    const depends = ['--depends-on-monitor', 'gate.example', '--depends-on-group', id(group)];
    expect(await json('monitors', 'update', id(made), ...depends)).toMatchObject({
      depends_on_monitors: [gateway.id],
      depends_on_groups: [group.id],
    });
    const window = await json(
      'maintenance',
      'create',
      '--starts-at',
      '2099-01-01T02:00',
      '--ends-at',
      '2099-01-01T03:00',
      '--monitor',
      id(made),
      '--rrule',
      'FREQ=DAILY',
    );
    expect(await json('maintenance', 'get', id(window))).toMatchObject({
      monitors: [made.id],
      starts_at: '2099-01-01T02:00:00.000Z',
    });
    expect((await run(['maintenance', 'delete', id(window)])).code).toBe(exits.done);
    const deleted = await run(['monitors', 'delete', id(made), '--yes']);
    expect(deleted).toEqual({ code: exits.done, out: '', err: '', asked: [] });
    expect(await run(['monitors', 'get', id(made)])).toMatchObject({
      code: exits.refused,
      out: '',
      err: expect.stringContaining('monitor_not_found'),
    });
  });

  test('gives all pages as one document', async () => {
    const names = Array.from({ length: 5 }, (_, index) => `page ${index}`);
    for (const name of names) await json('groups', 'create', '--name', name);
    const page = await json('groups', 'list', '--limit', '2');
    expect(page.items).toHaveLength(2);
    expect(page.next_cursor).toEqual(expect.any(String));
    const all = await json('groups', 'list', '--limit', '2', '--all');
    expect(all.next_cursor).toBeNull();
    expect(all.items).toEqual((await json('groups', 'list', '--limit', '200')).items);
  });

  test('shows tables and cards on a terminal, and JSON there only on request', async () => {
    await makeMonitor('https://table.example/', '--name', 'Table');
    const table = await run(['monitors', 'list', '--all'], { terminal: true });
    expect(table.out).toMatch(/Table\s+https\s+https:\/\/table\.example\//);
    expect(table.err).toContain('so far');
    expect((await run(['whoami'], { terminal: true })).out).toContain('read_write');
    expect(JSON.parse((await run(['whoami', '--json'], { terminal: true })).out)).toMatchObject({
      role: 'member',
    });
  });

  test('asks before a monitor and its history are deleted, unless confirmed by a flag', async () => {
    const made = await makeMonitor('https://asked.example/');
    const refused = await run(['monitors', 'delete', id(made)], { terminal: true, answer: 'n' });
    expect(refused.asked[0]).toMatch(
      /^Delete the monitor asked.example \(https:\/\/asked.example\/\) .* it can be restored/,
    );
    expect(refused.code).toBe(exits.usage);
    const left = await run(['monitors', 'delete', id(made)], { terminal: true, answer: undefined });
    expect(left).toMatchObject({
      code: exits.interrupted,
      out: '',
      err: '\nNothing was deleted.\n',
    });
    expect(await json('monitors', 'get', id(made))).toMatchObject({ id: made.id });
    const told = await run(['monitors', 'delete', id(made), '--yes'], { terminal: true });
    expect(told).toMatchObject({ code: exits.done, asked: [] });
  });

  test('deletes no monitor without a terminal, whatever is piped into it, unless confirmed by a flag', async () => {
    const made = await makeMonitor('https://piped.example/');
    const env = {
      PATH: process.env.PATH,
      ANTIPODE_URL: url,
      ANTIPODE_TOKEN: house.member.readWrite,
      XDG_CONFIG_HOME: '/nonexistent',
    };
    const node = machineNode() ?? process.execPath;
    const told = (input: string, ...more: string[]) =>
      runProgram([node, served.files['antipode.mjs'], 'monitors', 'delete', id(made), ...more], {
        env,
        input,
      });
    for (const input of ['n\n', 'y\n', ''])
      expect(await told(input)).toEqual({
        code: exits.usage,
        out: '',
        err: expect.stringMatching(/^Nothing was deleted: .*--yes.*\n$/),
      });
    expect(await json('monitors', 'get', id(made))).toMatchObject({ id: made.id });
    expect(await told('', '--yes')).toEqual({ code: exits.done, out: '', err: '' });
  });

  test('a dotted flag changes its key alone, and leaves secrets as they are', async () => {
    const config = {
      timeout_ms: 5000,
      method: 'POST',
      headers: { 'X-Key': 'hidden', Accept: 'text/html' },
      secret_headers: ['X-Key'],
    };
    const [type, target] = ['--type', '--target'];
    const made = await json(
      'monitors',
      'create',
      type,
      'https',
      target,
      'https://kept.example/',
      '--config',
      JSON.stringify(config),
    );
    const shown = { ...config, headers: { 'X-Key': '***', Accept: 'text/html' } };
    expect(made).toMatchObject({ config: shown });
    const secret = async () =>
      await served.api.sql`select secrets from monitors where id = ${id(made)}`;
    const update = (...flags: string[]) => json('monitors', 'update', id(made), ...flags);
    expect(await update('--config.timeout_ms', '3000', '--name', 'Kept')).toEqual({
      ...made,
      name: 'Kept',
      config: { ...Object(made.config), timeout_ms: 3000 },
    });
    const inner = await update('--config.headers.Accept', 'text/plain');
    expect(inner).toMatchObject({
      config: { ...shown, timeout_ms: 3000, headers: { 'X-Key': '***', Accept: 'text/plain' } },
    });
    expect(await secret()).toEqual([{ secrets: expect.anything() }]);
    // The whole is still the whole, and what is dotted beside it is set in that.
    const whole = await update('--config', '{"timeout_ms": 4000}', '--config.method', 'HEAD');
    expect(whole.config).toMatchObject({ timeout_ms: 4000, method: 'HEAD' });
    expect(whole.config).not.toMatchObject({ secret_headers: ['X-Key'] });
    expect(await run(['monitors', 'update', unknownId, '--config.timeout_ms', '1'])).toMatchObject({
      code: exits.refused,
      err: expect.stringContaining('monitor_not_found'),
    });
  });

  test.each<[string, string[], World, Exit, RegExp]>([
    [
      'a refusal of the domain',
      ['monitors', 'create', '--type', 'ftp', '--target', 'x'],
      {},
      exits.refused,
      /monitor_type_unknown/,
    ],
    [
      'a validation field by field',
      ['monitors', 'list', '--limit', '0'],
      {},
      exits.refused,
      /limit: Input should be greater than or equal to 1/,
    ],
    [
      'a name of nothing',
      ['monitors', 'get', 'x'],
      {},
      exits.refused,
      /Nothing in monitors is called "x"/,
    ],
    [
      'a wrong flag',
      ['monitors', 'list', '--limmit', '5'],
      {},
      exits.usage,
      /Did you mean --limit\?/,
    ],
    ['--all on no list', ['whoami', '--all'], {}, exits.usage, /not a list/],
    ['a token that is none', ['whoami'], { token: 'svc_nothing' }, exits.token, /token_invalid/],
    ['no token', ['whoami'], { token: '' }, exits.token, /ANTIPODE_TOKEN/],
    [
      'nobody there',
      ['whoami'],
      { url: 'http://127.0.0.1:9' },
      exits.notReached,
      /cannot be reached/,
    ],
    ['no command', [], {}, exits.usage, /Commands/],
  ])(
    '%s has its exit code, a reason on standard error, and nothing on standard output',
    async (_, line, world, code, reason) => {
      const ran = await run(line, world);
      expect(ran.code).toBe(code);
      expect(ran.err).toMatch(reason);
      expect(ran.out).toBe('');
    },
  );

  test('a write with a read token, and a foreign monitor, are refused with the code of the API', async () => {
    const made = await makeMonitor('https://mine.example/');
    expect(
      (await run(['groups', 'create', '--name', 'x'], { token: house.owner.read })).err,
    ).toContain('scope_insufficient');
    expect(
      (await run(['groups', 'create', '--name', 'x'], { token: house.viewer.readWrite })).err,
    ).toContain('role_insufficient');
    expect(
      (await run(['monitors', 'get', id(made)], { token: unknownSender.owner.readWrite })).err,
    ).toContain('monitor_not_found');
  });

  test('a config key without effect gets a warning, on create and on update, and the monitor is saved all the same', async () => {
    const line = [
      'monitors',
      'create',
      '--type',
      'https',
      '--target',
      'https://typo.example/',
      '--config.expectd_status',
      '[200]',
    ];
    const made = await run(line);
    expect(made.code).toBe(exits.done);
    expect(made.err).toBe(
      'antipode: `expectd_status` is not used by https checks; did you mean `expected_status`? (antipode help config lists what is)\n',
    );
    const monitor: Record<string, unknown> = JSON.parse(made.out);
    expect(monitor.config).toEqual({ expectd_status: [200] });
    const changed = await run(
      ['monitors', 'update', id(monitor), '--config', '{"metod":"HEAD","method":"GET"}'],
      { terminal: true },
    );
    expect(changed).toMatchObject({
      code: exits.done,
      err: expect.stringContaining('did you mean `method`?'),
    });
    expect((await run(['monitors', 'update', id(monitor), '--name', 'Other'])).err).toBe('');
  });

  test('lists every config key of a type, with its meaning', async () => {
    expect(await run(['help', 'config', 'https'])).toMatchObject({
      code: exits.done,
      err: '',
      out: expect.stringContaining('body_not_contains'),
    });
    expect(await run(['help', 'config'])).toMatchObject({
      code: exits.done,
      out: expect.stringContaining('help config dns'),
    });
    expect(await run(['help', 'config', 'htps'])).toMatchObject({
      code: exits.usage,
      err: expect.stringContaining('Did you mean https?'),
    });
    expect((await run(['--help'])).out).toContain('help config TYPE');
  });

  test('says of every command what it takes, with an example', async () => {
    for (const line of [
      ['--help'],
      ['monitors', '--help'],
      ['help', 'monitors', 'create'],
      ['monitors', 'create', '--help'],
    ]) {
      expect(await run(line)).toMatchObject({ code: exits.done, err: '' });
    }
    expect((await run(['maintenance', 'create', '--help'])).out).toMatch(
      /Example\n {2}antipode maintenance create .*--starts-at \+1h --ends-at \+2h/,
    );
  });

  test('completion for an unknown shell lists the known ones', async () => {
    expect(await run(['completion', 'bsh'])).toMatchObject({
      code: exits.usage,
      err: expect.stringContaining('Did you mean bash?'),
    });
    expect((await run(['completion', 'fish'])).out).toContain('complete -c antipode');
  });

  /** What the scripts call is the client as people have it. */
  const asCommand = () =>
    `antipode() { '${machineNode() ?? process.execPath}' '${served.files['antipode.mjs']}' "$@"; }`;

  test('the completion for bash completes', async () => {
    const { out: script } = await run(['completion', 'bash']);
    const complete = async (words: string[]) => {
      const line = `${asCommand()}\n${script}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _antipode; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return (await runProgram(['bash', '-c', line])).out.trim().split('\n');
    };
    expect(await complete(['antipode', 'mon'])).toEqual(['monitors']);
    expect(await complete(['antipode', 'monitors', 'st'])).toEqual(['status']);
    expect(await complete(['antipode', 'monitors', 'create', '--inter'])).toEqual(['--interval-s']);
    expect(await complete(['antipode', 'incidents', 'list', '--state', 'o'])).toEqual(['open']);
    expect(await complete(['antipode', 'monitors', 'create', '--type', ''])).toEqual([...kinds]);
  });

  test.skipIf(zsh === undefined)(
    'the completion for zsh completes, read in and as a file of $fpath',
    async () => {
      const { out: script } = await run(['completion', 'zsh']);
      const folder = mkdtempSync(join(tmpdir(), 'antipode-zsh-'));
      writeFileSync(join(folder, '_antipode'), script);
      const shown = `${asCommand()}; compdef() { : }; compadd() { shift; print -rl -- "$@" }`;
      const complete = async (begin: string, ...words: string[]) => {
        const line = `${shown}\n${begin}\nwords=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; _antipode`;
        const { out, err } = await runProgram([zsh?.file ?? '', '-f', '-c', line], {
          env: { ...process.env, ...zsh?.env },
        });
        expect(err).toBe('');
        return out.trim().split('\n');
      };
      try {
        for (const begin of [script, `fpath=(${folder}); autoload -Uz _antipode`]) {
          expect(await complete(begin, 'antipode', '')).toContain('monitors');
          expect(await complete(begin, 'antipode', 'monitors', '')).toContain('status');
          expect(await complete(begin, 'antipode', 'monitors', 'create', '')).toContain(
            '--interval-s',
          );
          expect(await complete(begin, 'antipode', 'incidents', 'list', '--state', '')).toEqual([
            'all',
            'open',
            'resolved',
          ]);
          expect(await complete(begin, 'antipode', 'whoami', '')).toContain('--json');
          expect(await complete(begin, 'antipode', 'help', 'config', '')).toContain('heartbeat');
        }
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );

  test('the download is one file that the Node of users runs, alone in its folder', async () => {
    const node = machineNode() ?? process.execPath;
    const env = {
      PATH: process.env.PATH,
      ANTIPODE_URL: url,
      ANTIPODE_TOKEN: house.member.read,
      XDG_CONFIG_HOME: '/nonexistent',
    };
    const { code, out, err } = await runProgram([node, served.files['antipode.mjs'], 'whoami'], {
      env,
    });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toMatchObject({ scope: 'read', role: 'member' });
    // An answer that cannot be written is no stack of ours, and one that is not wanted any more is
    // no fault.
    const full = await runProgram(
      ['sh', '-c', '"$0" "$1" whoami > /dev/full', node, served.files['antipode.mjs']],
      { env },
    );
    expect(full).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^antipode: the answer cannot be written \(ENOSPC[^\n]*\)\n$/),
    });
    const closed = await runProgram(
      ['sh', '-c', '"$0" "$1" monitors list --all | true', node, served.files['antipode.mjs']],
      { env },
    );
    expect(closed).toMatchObject({ code: 0, err: '' });
  });

  test('the installation that the documentation shows works also where a folder above calls its modules CommonJS', async () => {
    const home = mkdtempSync(join(tmpdir(), 'antipode-installed-'));
    try {
      writeFileSync(join(home, 'package.json'), '{"type": "commonjs"}');
      const env = {
        PATH: process.env.PATH,
        HOME: home,
        ANTIPODE_URL: url,
        ANTIPODE_TOKEN: house.member.read,
      };
      const page = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');
      const [steps = ''] =
        /^curl (?:[^\n]*\\\n)*[^\n]*antipode\.mjs"\n(?:[^\n]*antipode\.mjs[^\n]*\n)*/m.exec(page) ??
        [];
      expect(steps).toContain('.local/bin');
      cpSync(served.files['antipode.mjs'], join(home, 'downloads/antipode.mjs'));
      const installed = await runProgram(['sh', '-ec', steps], {
        env: { ...env, ANTIPODE_URL: `file://${home}` },
      });
      expect(installed).toEqual({ code: 0, out: '', err: '' });
      const said = await runProgram([join(home, '.local/bin/antipode'), 'whoami'], { env });
      expect(said).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringContaining('"scope":"read"'),
      });
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  test('a flag before the command is refused with where flags belong', async () => {
    expect(await run(['--limit', 'monitors'])).toMatchObject({
      code: exits.usage,
      err: expect.stringContaining('--limit stands without a command'),
    });
    expect(await run(['--limit', '5', '--help'])).toMatchObject({ code: exits.done });
  });
});
