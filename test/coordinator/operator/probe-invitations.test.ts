import { expect, test } from 'vitest';
import { createOrganisationLookup } from '../../../coordinator/gate/lookups.ts';
import { type OperatorDependencies, runUnderstood, understand } from '../../../coordinator/operator/command-line.ts';
import { gateBench } from '../../support/gate.ts';

const bench = gateBench();

const nothing = () => Promise.reject(new Error('no invitation needs this'));
const parts = (): OperatorDependencies => ({
  gate: bench.gate,
  organisations: createOrganisationLookup(bench.sql),
  migrate: async () => [],
  ...{
    backup: nothing,
    backups: { nightly: nothing, drillNewest: nothing, takeUp: nothing },
    restore: nothing,
    rotateKey: nothing,
    keys: {},
  },
});

const run = async (...argv: readonly string[]): Promise<{ readonly out: string; readonly err: string }> => {
  let [out, err] = ['', ''];
  const streams = {
    watched: false,
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
  };
  const understood = understand(argv, streams);
  if (typeof understood !== 'number') await runUnderstood(understood, parts(), streams);
  return { out, err };
};

const json = async (...argv: readonly string[]): Promise<Record<string, unknown>> => {
  const { out, err } = await run(...argv, '--json');
  expect(err).toBe('');
  return JSON.parse(out);
};

test('invites hosts to be probes, public ones and those of an organisation, and takes an invitation back', async () => {
  const organisation = String((await json('organisation', 'create', '--name', 'Inviting')).id);
  const where = ['--name', 'Nairobi', '--continent', 'Africa'] as const;
  const open = await json('probe', 'invite', ...where);
  expect(open).toMatchObject({ name: 'Nairobi', state: 'open' });
  expect(open.command).toContain(`join https://antipode.test ${String(open.token)}`);
  const own = await json('probe', 'invite', ...where, '--organisation', organisation);
  const behind = await json('probe', 'invite', '--name', 'Lagos', '--continent', 'Africa', '--ca', '/etc/our ca.pem');
  expect(behind.command).toContain("curl --cacert '/etc/our ca.pem' -fsSO");
  expect(behind.command).toContain("antipode-probe.mjs join --ca '/etc/our ca.pem' http");
  const inside = await json(
    'probe',
    'invite',
    '--name',
    'Accra',
    '--continent',
    'Africa',
    '--organisation',
    organisation,
    '--ca',
    '~/ca.pem',
  );
  expect(inside.command).toContain('curl --cacert ~/ca.pem -fsSO');
  expect((await run('probe', 'invite', ...where)).err).toContain('name_taken');
  expect((await run('probe', 'invite', '--name', 'X', '--continent', 'Atlantis')).err).toContain('continent_unknown');
  const listed = JSON.stringify(await json('probe', 'invitations'));
  for (const { id } of [open, own]) expect(listed).toContain(String(id));
  expect(listed).not.toContain(String(open.token));
  expect(await json('probe', 'uninvite', '--id', String(own.id))).toEqual({ id: own.id });
  expect((await run('probe', 'uninvite', '--id', String(own.id))).err).toContain('invitation_not_found');
});
