import { expect, test } from 'vitest';
import { input } from '../../../coordinator/operator/command.ts';
import { understand } from '../../../coordinator/operator/command-line.ts';
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

test.each(['help', '--help', '-h'])('%s alone tells of all commands', (word) => {
  expect(said(word)).toMatchObject({ code: 0, err: '', out: expect.stringContaining('probe rotate') });
});

test.each(['probe --help', 'probe -h', 'probe help', 'help probe'])('%s tells of the commands with that noun', (line) => {
  const { code, out } = said(...line.split(' '));
  expect(code).toBe(0);
  expect(out).toContain('probe rotate');
  expect(out).not.toContain('token create');
});

test.each(['--help', '-h'])('token create %s tells what it takes', (flag) => {
  expect(said('token', 'create', flag)).toMatchObject({ code: 0, out: expect.stringContaining('--scope') });
});

test('nothing at all is no command', () => {
  expect(said()).toMatchObject({ code: 2, out: expect.stringContaining('probe rotate') });
});

test.each<[line: string, says: string]>([
  ['probe lst', 'Did you mean probe list?'],
  ['probe', 'create, rotate, revoke, trust, list'],
  ['prob list', 'Did you mean probe?'],
  ['probe create --nmae Oslo', 'Did you mean --name?'],
  ['probe create --name Oslo', '--continent (where it stands'],
  ['probe create --name --continent Europe', '--name needs a value'],
  ['probe list --json=yes', '--json takes no value'],
  ['probe list twice', '"twice" is no flag; flags begin with --'],
  ['probe list -x', '"-x" is no flag; flags begin with --'],
  ['probe list --', '"--" is no flag; flags begin with --'],
  ['probe revoke --id', '--id needs a value'],
  ['probe revoke --id 1 --id 2', 'stands twice'],
  ['probe revoke --id=', '--id needs a value'],
])('%s is told what would be right', (line, says) => {
  expect(said(...line.split(' '))).toMatchObject({ code: 2, out: '', err: expect.stringContaining(says) });
});

test('what the flags say is read as it stands, also behind = and with dashes', () => {
  const understood = understand(['probe', 'create', '--name=--Oslo=1', '--continent', 'North America', '--json'], {
    ...{ out: () => undefined, err: () => undefined, watched: false },
  });
  if (typeof understood === 'number') throw new Error('it was not understood');
  const { given } = understood;
  expect([given.get('name'), given.get('continent'), given.has('json'), given.has('organisation')]).toEqual([
    ...['--Oslo=1', 'North America', true, false],
  ]);
});

test('what the flags say goes under the names that the operation has for it', () => {
  const said: Readonly<Record<string, string>> = {
    name: 'deploy',
    'expires-at': '2027-01-01T00:00:00Z',
    organisation: 'Example',
    json: 'true',
  };
  const given = { get: (flag: string) => said[flag], has: (flag: string) => Object.hasOwn(said, flag) };
  expect(input(given, createToken)).toEqual({ name: 'deploy', expires_at: '2027-01-01T00:00:00Z' });
  const one = { get: () => '7', has: (flag: string) => flag === 'id' };
  expect(input(one, rotateProbe, { probe_id: 'id' })).toEqual({ probe_id: '7' });
});

test('what is done each day waits for the next time that clocks in UTC show it', () => {
  const now = Date.UTC(2026, 10, 23, 3, 17);
  expect(untilNext('03:18', now)).toBe(60_000);
  expect(untilNext('03:17', now)).toBe(86_400_000);
  expect(untilNext('03:16', now)).toBe(86_340_000);
  for (const wrong of ['24:00', '3:17', '03:60', 'noon']) expect(() => untilNext(wrong, now)).toThrow('such as 03:17');
});
