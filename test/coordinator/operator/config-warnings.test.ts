import { expect, test } from 'vitest';
import { createOrganisationLookup } from '../../../coordinator/gate/lookups.ts';
import { type OperatorDependencies, runUnderstood, understand } from '../../../coordinator/operator/command-line.ts';
import { gateBench } from '../../support/gate.ts';

const bench = gateBench();
const unused = () => Promise.reject(new Error('of no use here'));

const run = async (...argv: readonly string[]) => {
  const parts: OperatorDependencies = {
    gate: bench.gate,
    organisations: createOrganisationLookup(bench.sql),
    migrate: async () => [],
    backup: unused,
    restore: unused,
    backups: { nightly: unused, drillNewest: unused, takeUp: unused },
    keys: {},
    rotateKey: unused,
  };
  const out: string[] = [];
  const err: string[] = [];
  const streams = { out: (text: string) => void out.push(text), err: (text: string) => void err.push(text), watched: false };
  const understood = understand([...argv, '--json'], streams);
  return {
    code: typeof understood === 'number' ? understood : await runUnderstood(understood, parts, streams),
    out: out.join(''),
    err: err.join(''),
  };
};

test('an operator who types a config key that does nothing is told what was probably meant, and the monitor is made', async () => {
  await run('organisation', 'create', '--name', 'Typing');
  const line = ['monitor', 'create', '--organisation', 'Typing', '--type', 'dns', '--target', 'example.com'];
  const typo = await run(...line, '--config', '{"record_typ":"MX","odd\\u001b[31m":1}');
  expect([typo.code, typo.err]).toEqual([
    0,
    '`odd\\x1b[31m` is not used by dns checks\n`record_typ` is not used by dns checks; did you mean `record_type`?\n',
  ]);
  expect(JSON.parse(typo.out)).toMatchObject({ config: { record_typ: 'MX' } });
  expect(await run(...line, '--config', '{"record_type":"MX"}')).toMatchObject({ code: 0, err: '' });
});
