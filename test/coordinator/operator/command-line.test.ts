import { expect, test } from 'vitest';
import { inputFlags } from '../../../coordinator/operator/command.ts';
import { understand } from '../../../coordinator/operator/command-line.ts';
import { listRefused } from '../../../coordinator/operator/contract.ts';
import { untilNext } from '../../../coordinator/operator/installation-commands.ts';
import { rotateProbe } from '../../../coordinator/probes/contract.ts';
import { createToken } from '../../../coordinator/tokens/contract.ts';

/** What is said of a line before any house is needed. */
const said = (...argv: readonly string[]) => {
  const heard = { code: 0, out: '', err: '' };
  const code = understand(argv, {
    out: (text) => {
      heard.out += text;
    },
    err: (text) => {
      heard.err += text;
    },
    watched: false,
  });
  return { ...heard, code };
};

test.each(['help', '--help', '-h'])('%s alone lists all commands', (word) => {
  expect(said(word)).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining('probe rotate'),
  });
});

test.each(['probe --help', 'probe -h', 'probe help', 'help probe'])(
  '%s lists the commands with that noun',
  (line) => {
    const { code, out } = said(...line.split(' '));
    expect(code).toBe(0);
    expect(out).toContain('probe rotate');
    expect(out).not.toContain('token create');
  },
);

test.each(['--help', '-h'])('token create %s lists its arguments', (flag) => {
  expect(said('token', 'create', flag)).toMatchObject({
    code: 0,
    out: expect.stringContaining('--scope'),
  });
});

test('an empty line is no command', () => {
  expect(said()).toMatchObject({ code: 2, out: expect.stringContaining('probe rotate') });
});

test.each<[line: string, says: string]>([
  ['probe lst', 'Did you mean "probe list"?'],
  ['probe', 'create, rotate, revoke, trust, region, list'],
  ['prob list', 'Did you mean "probe list"?'],
  ['probe create --nmae Oslo', 'Did you mean --name?'],
  ['probe create --name Oslo', 'needs --continent'],
  ['probe create --name --continent Europe', '--name needs a value'],
  ['probe list --json=yes', '--json takes true or false'],
  ['probe list twice', 'does not take "twice"; flags begin with --'],
  ['probe list -x', '"-x" is no flag; flags begin with --'],
  ['probe revoke --id', '--id needs a value'],
  ['probe revoke --id 1 --id 2', 'given twice'],
  ['probe revoke --id=', '--id needs a value'],
])('%s is told what would be right', (line, says) => {
  expect(said(...line.split(' '))).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining(says),
  });
});

test('values of flags are read as they are, also behind = and with dashes', () => {
  const understood = understand(
    ['probe', 'create', '--name=--Oslo=1', '--continent', 'North America', '--json'],
    {
      out: () => undefined,
      err: () => undefined,
      watched: false,
    },
  );
  if (typeof understood === 'number') throw new Error('it was not understood');
  expect(understood.input).toEqual({ name: '--Oslo=1', continent: 'North America', json: true });
});

test('flags are those of the operation, and what it is about is its --id', () => {
  const token = inputFlags(createToken, { required: ['email'] });
  expect(token.map(({ name, key, required }) => [name, key, required])).toEqual([
    ['email', 'email', true],
    ['name', 'name', true],
    ['scope', 'scope', true],
    ['manage-members', 'manage_members', false],
    ['expires-at', 'expires_at', false],
  ]);
  expect(inputFlags(rotateProbe)).toMatchObject([
    { name: 'id', key: 'probe_id', hint: 'id of the probe' },
  ]);
  const refused = inputFlags(listRefused, { names: { probe_id: 'probe' } });
  expect(refused.map(({ name, key }) => [name, key])).toContainEqual(['probe', 'probe_id']);
});

test('a daily job runs the next time that clocks in UTC show its hour', () => {
  const now = Date.UTC(2026, 10, 23, 3, 17);
  expect(untilNext('03:18', now)).toBe(60_000);
  expect(untilNext('03:17', now)).toBe(86_400_000);
  expect(untilNext('03:16', now)).toBe(86_340_000);
  for (const wrong of ['24:00', '3:17', '03:60', 'noon'])
    expect(() => untilNext(wrong, now)).toThrow('such as 03:17');
});
