import { expect, test } from 'vitest';
import { untilNext } from '../../../coordinator/operator/commands-of-backups.ts';
import { understand } from '../../../coordinator/operator/index.ts';

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
  ['probe list twice', 'flags begin with --'],
  ['probe revoke --id 1 --id 2', 'stands twice'],
  ['probe revoke --id=', '--id needs a value'],
])('%s is told what would be right', (line, says) => {
  expect(said(...line.split(' '))).toMatchObject({ code: 2, out: '', err: expect.stringContaining(says) });
});

test('what is done each day waits for the next time that clocks in UTC show it', () => {
  const now = Date.UTC(2026, 10, 23, 3, 17);
  expect(untilNext('03:18', now)).toBe(60_000);
  expect(untilNext('03:17', now)).toBe(86_400_000);
  expect(untilNext('03:16', now)).toBe(86_340_000);
  for (const wrong of ['24:00', '3:17', '03:60', 'noon']) expect(() => untilNext(wrong, now)).toThrow('such as 03:17');
});
