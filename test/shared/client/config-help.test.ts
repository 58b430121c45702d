import { describe, expect, test } from 'vitest';
import { configKeys, kinds } from '../../../shared/api/config-keys.ts';
import { UsageFault } from '../../../shared/base/env.ts';
import { findCommand, readLine, valuesOf } from '../../../shared/client/arguments.ts';
import { callOf } from '../../../shared/client/calls.ts';
import { commands } from '../../../shared/client/commands.ts';
import {
  commandHelp,
  completion,
  configHelp,
  configWarnings,
} from '../../../shared/client/help.ts';
import { painter } from '../../../shared/client/terminal.ts';

const paint = painter(false);
const rows = kinds.flatMap((kind) =>
  Object.entries(configKeys[kind]).map(([key, row]) => [kind, key, row] as const),
);

/** A text in one line, whatever width it was broken to. */
const flowing = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll('`', '');

describe('the help for config keys', () => {
  test.each(rows)('of %s says what %s means and allows', (kind, key, { meaning, allowed }) => {
    const help = flowing(configHelp(kind, paint));
    for (const words of [` ${key} `, meaning, allowed]) expect(help).toContain(flowing(words));
  });

  test.each(rows)(
    'of %s gives an example of %s that can be typed as it is',
    (kind, key, { example }) => {
      const [, value = ''] =
        new RegExp(`^ +--config\\.${key}[ =](.+)$`, 'm').exec(configHelp(kind, paint)) ?? [];
      // As the shell passes it on.
      const passed = value === '"$(cat FILE)"' ? String(example) : value.replaceAll(/^'|'$/g, '');
      const line = readLine(
        ['monitors', 'create', '--type', kind, `--config.${key}=${passed}`],
        new Set(),
      );
      const { command, rest } = findCommand(commands, line.words);
      const { body } = callOf(
        command,
        rest,
        valuesOf(command, line, () => ''),
      );
      // "6" and "1.3" are read as numbers, which mean the same there.
      const read: unknown = { ip_family: 6, min_version: 1.3 }[key] ?? example;
      expect(JSON.stringify(body)).toBe(JSON.stringify({ type: kind, config: { [key]: read } }));
    },
  );

  test('lists the types, and names the probable key', () => {
    for (const kind of kinds)
      expect(configHelp(undefined, paint)).toContain(`antipode help config ${kind}`);
    expect(() => configHelp('http', paint)).toThrow(UsageFault);
    expect(() => configHelp('http', paint)).toThrow('Did you mean https?');
    expect(() => configHelp('xyzzy', paint)).toThrow(`There are: ${kinds.join(', ')}`);
  });

  test('is not shown for channels, which have an example of their own', () => {
    const channel = commands.find(({ words }) => words.join(' ') === 'channels create');
    expect(channel && commandHelp(channel, paint)).toContain(
      `antipode channels create --kind webhook --name 'Shop' --config '{"url": "https://hooks.example.org/antipode"}'`,
    );
  });

  test('is named where a config is entered', () => {
    const told = commands.filter((command) =>
      commandHelp(command, paint).includes('antipode help config TYPE'),
    );
    expect(told.map(({ operation }) => operation.id)).toEqual(['createMonitor', 'updateMonitor']);
  });
});

test('completion knows every key of a config, its few values, and the types that help knows', () => {
  const offered = (...line: string[]) =>
    completion('words', line).replaceAll(/\t.*/g, '').trimEnd().split('\n');
  const create = ['monitors', 'create'];
  for (const [, key, { choices }] of rows) {
    expect(offered(...create, '--config.')).toContain(`--config.${key}`);
    // A key of several kinds offers what any of them takes.
    const values = offered(...create, `--config.${key}`, '');
    if (choices) expect(values).toEqual(expect.arrayContaining([...choices]));
  }
  expect(offered(...create, '--config.expected_s')).toEqual(['--config.expected_status']);
  expect(offered('help', 'conf')).toEqual(['config']);
  expect(offered('help', 'config', 'h')).toEqual(['https', 'heartbeat']);
});

test('a warning is shown for what was sent, and only where the answer is a monitor', () => {
  const answer = { type: 'https', config: { old_key: 1, expectd_status: [200] } };
  expect(configWarnings({ config: { expectd_status: [200], method: 'GET' } }, answer)).toEqual([
    '`expectd_status` is not used by https checks; did you mean `expected_status`?',
  ]);
  for (const [sent, got] of [
    [{ name: 'x' }, answer],
    [undefined, answer],
    [{ config: { odd: 1 } }, null],
    [{ config: { odd: 1 } }, { type: 'of tomorrow' }],
  ])
    expect(configWarnings(sent, got)).toEqual([]);
});
