import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Exit, exits, runCli, type Surroundings } from '../../../shared/client/cli.ts';
import { createHouse, type House } from '../../support/people.ts';
import { machineNode, runProgram } from '../../support/programs.ts';
import { openServed, type Served } from '../../support/served.ts';

let served: Served;
let house: House;
let stranger: House;
let url: string;

beforeAll(async () => {
  served = await openServed();
  ({ house, url } = served);
  stranger = await createHouse(served.api.sql);
});

afterAll(() => served.close());

type Ran = { readonly code: Exit; readonly out: string; readonly err: string; readonly asked: string[] };
type World = { token?: string | undefined; url?: string; terminal?: boolean; answer?: string };

/** The command with a world around it that a test can see into; what it calls is the real service. */
const run = async (
  line: string[],
  { token = house.member.readWrite, url: at = url, terminal = false, answer = '' }: World = {},
): Promise<Ran> => {
  let [out, err] = ['', ''];
  const asked: string[] = [];
  const world: Surroundings = {
    given: line,
    environment: { ANTIPODE_URL: at, ANTIPODE_TOKEN: token, XDG_CONFIG_HOME: '/nonexistent', NO_COLOR: '' },
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    columns: terminal ? 120 : undefined,
    attended: terminal,
    ask: async (question) => {
      asked.push(question);
      return answer;
    },
    readText: (path) => readFileSync(path, 'utf8'),
    now: () => Date.now(),
  };
  const code = await runCli(world);
  if (token !== '') expect(out + err).not.toContain(token);
  return { code, out, err, asked };
};

const json = async (...line: string[]): Promise<Record<string, unknown>> => {
  const { code, out, err } = await run(line);
  expect({ code, err }).toEqual({ code: exits.done, err: '' });
  return JSON.parse(out);
};

const id = (thing: Record<string, unknown>): string => String(thing.id);

describe('antipode', () => {
  test('takes a monitor through its whole life, one call a command', async () => {
    expect(await json('whoami')).toMatchObject({ role: 'member', scope: 'read_write', organisation: { id: house.organisation } });
    const group = await json('groups', 'create', '--name', 'Shops');
    const made = await json(
      'monitors',
      'create',
      '--type',
      'https',
      '--target',
      'https://example.com/',
      '--interval-s',
      '60',
      '--config.timeout_ms',
      '5000',
      '--group',
      id(group),
    );
    expect(made).toMatchObject({ target: 'https://example.com/', interval_s: 60, config: { timeout_ms: 5000 }, group: group.id });
    expect(await json('monitors', 'update', id(made), '--no-enabled', '--ungroup')).toMatchObject({ enabled: false, group: null });
    expect(await json('monitors', 'status', id(made), '--days', '7')).toMatchObject({ status: 'paused', uptime: { days: 7 } });
    const window = await json(
      'maintenance',
      'create',
      '--starts-at',
      '2027-01-01T02:00',
      '--ends-at',
      '2027-01-01T03:00',
      '--monitor',
      id(made),
      '--rrule',
      'FREQ=DAILY',
    );
    expect(await json('maintenance', 'get', id(window))).toMatchObject({ monitors: [made.id], starts_at: '2027-01-01T02:00:00.000Z' });
    expect((await run(['maintenance', 'delete', id(window)])).code).toBe(exits.done);
    const deleted = await run(['monitors', 'delete', id(made)]);
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

  test('shows tables and cards on a terminal, and JSON there only when told', async () => {
    await json('monitors', 'create', '--type', 'https', '--target', 'https://table.example/', '--name', 'Table');
    const table = await run(['monitors', 'list', '--all'], { terminal: true });
    expect(table.out).toMatch(/Table\s+https\s+https:\/\/table\.example\//);
    expect(table.err).toContain('so far');
    expect((await run(['whoami'], { terminal: true })).out).toContain('read_write');
    expect(JSON.parse((await run(['whoami', '--json'], { terminal: true })).out)).toMatchObject({ role: 'member' });
  });

  test('asks before a monitor and its history are deleted, unless told yes', async () => {
    const made = await json('monitors', 'create', '--type', 'https', '--target', 'https://asked.example/');
    const refused = await run(['monitors', 'delete', id(made)], { terminal: true, answer: 'n' });
    expect(refused.asked[0]).toMatch(/cannot be undone/);
    expect(refused.code).toBe(exits.usage);
    expect(await json('monitors', 'get', id(made))).toMatchObject({ id: made.id });
    const told = await run(['monitors', 'delete', id(made), '--yes'], { terminal: true });
    expect(told).toMatchObject({ code: exits.done, asked: [] });
  });

  test.each<[string, string[], World, Exit, RegExp]>([
    ['a refusal of the domain', ['monitors', 'create', '--type', 'ftp', '--target', 'x'], {}, exits.refused, /monitor_type_unknown/],
    [
      'a validation field by field',
      ['monitors', 'list', '--limit', '0'],
      {},
      exits.refused,
      /limit: Input should be greater than or equal to 1/,
    ],
    ['an id that is none', ['monitors', 'get', 'x'], {}, exits.refused, /monitor_id: Input should be a valid UUID/],
    ['a wrong flag', ['monitors', 'list', '--limmit', '5'], {}, exits.usage, /Did you mean --limit\?/],
    ['--all on no list', ['whoami', '--all'], {}, exits.usage, /not a list/],
    ['a token that is none', ['whoami'], { token: 'svc_nothing' }, exits.token, /token_invalid/],
    ['no token', ['whoami'], { token: '' }, exits.token, /ANTIPODE_TOKEN/],
    ['nobody there', ['whoami'], { url: 'http://127.0.0.1:9' }, exits.notReached, /cannot be reached/],
    ['no command', [], {}, exits.usage, /Commands/],
  ])('%s has its exit code, a reason on standard error, and nothing on standard output', async (_, line, world, code, reason) => {
    const ran = await run(line, world);
    expect(ran.code).toBe(code);
    expect(ran.err).toMatch(reason);
    expect(ran.out).toBe('');
  });

  test('a write with a read token, and a stranger’s monitor, are refused with the code of the API', async () => {
    const made = await json('monitors', 'create', '--type', 'https', '--target', 'https://mine.example/');
    expect((await run(['groups', 'create', '--name', 'x'], { token: house.owner.read })).err).toContain('scope_insufficient');
    expect((await run(['groups', 'create', '--name', 'x'], { token: house.viewer.readWrite })).err).toContain('role_insufficient');
    expect((await run(['monitors', 'get', id(made)], { token: stranger.owner.readWrite })).err).toContain('monitor_not_found');
  });

  test('says of every command what it takes, with an example', async () => {
    for (const line of [['--help'], ['monitors', '--help'], ['help', 'monitors', 'create'], ['monitors', 'create', '--help']]) {
      expect(await run(line)).toMatchObject({ code: exits.done, err: '' });
    }
    expect((await run(['maintenance', 'create', '--help'])).out).toMatch(
      /Example\n {2}antipode maintenance create .*--starts-at 2027-01-01T02:00/,
    );
  });

  test.each(['bash', 'zsh', 'fish'])('gives completion for %s', async (shell) => {
    const { code, out } = await run(['completion', shell]);
    expect(code).toBe(exits.done);
    expect(out).toContain('remove-monitor');
    expect(out).toContain('interval-s');
  });

  test('the completion for bash completes', async () => {
    const { out: script } = await run(['completion', 'bash']);
    const complete = async (words: string[]) => {
      const line = `${script}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _antipode; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return (await runProgram(['bash', '-c', line])).out.trim().split('\n');
    };
    expect(await complete(['antipode', 'mon'])).toEqual(['monitors']);
    expect(await complete(['antipode', 'monitors', 'st'])).toEqual(['status']);
    expect(await complete(['antipode', 'monitors', 'create', '--inter'])).toEqual(['--interval-s']);
    expect(await complete(['antipode', 'incidents', 'list', '--state', 'o'])).toEqual(['open']);
  });

  test('the download is one file that the Node of users runs, alone in its folder', async () => {
    const node = machineNode() ?? process.execPath;
    const env = { PATH: process.env.PATH, ANTIPODE_URL: url, ANTIPODE_TOKEN: house.member.read, XDG_CONFIG_HOME: '/nonexistent' };
    const { code, out, err } = await runProgram([node, served.files['antipode.mjs'], 'whoami'], { env });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toMatchObject({ scope: 'read', role: 'member' });
    // An answer that cannot be written is no stack of ours, and one that is not wanted any more is no fault.
    const full = await runProgram(['sh', '-c', '"$0" "$1" whoami > /dev/full', node, served.files['antipode.mjs']], { env });
    expect(full).toMatchObject({ code: 1, err: expect.stringMatching(/^antipode: the answer cannot be written \(ENOSPC[^\n]*\)\n$/) });
    const closed = await runProgram(['sh', '-c', '"$0" "$1" monitors list --all | true', node, served.files['antipode.mjs']], { env });
    expect(closed).toMatchObject({ code: 0, err: '' });
  });

  test('a flag before the command is told where flags stand', async () => {
    expect(await run(['--limit', 'monitors'])).toMatchObject({
      code: exits.usage,
      err: expect.stringContaining('--limit stands without a command'),
    });
    expect(await run(['--limit', '5', '--help'])).toMatchObject({ code: exits.done });
  });
});
