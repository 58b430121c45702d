import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertProbe } from '../../../coordinator/probes/queries.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { openServed, type Served } from '../../support/api.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { runProgram } from '../../support/processes.ts';

/** The blocks of the documentation, typed as they stand there. */

let served: Served;
let house: TestOrganisation;
let home: string;

beforeAll(async () => {
  served = await openServed();
  house = await createTestOrganisation(served.api.sql, { plan: 'business' });
  home = mkdtempSync(join(tmpdir(), 'antipode-guide-'));
  const program = join(home, 'antipode');
  writeFileSync(
    program,
    `#!/bin/sh\nexec '${process.execPath}' '${served.files['antipode.mjs']}' "$@"\n`,
  );
  chmodSync(program, 0o755);
});
afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await served.close();
});

const root = join(import.meta.dirname, '../../..');

/** The shell blocks of a page. */
const blocksOf = (page: string): readonly string[] => {
  const text = readFileSync(join(root, `docs/${page}.md`), 'utf8');
  return [...text.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block]) => block ?? []);
};

/** `stdin`: what is typed when a command asks. */
const type = async (block: string, stdin = ''): Promise<string> => {
  const script = block.replaceAll('https://antipode.example', served.url);
  const said = await runProgram(['bash', '-eo', 'pipefail', '-c', script], {
    env: {
      HOME: home,
      PATH: `${home}:${process.env.PATH}`,
      ANTIPODE_URL: served.url,
      ANTIPODE_TOKEN: house.admin.readWrite,
      NO_COLOR: '1',
    },
    input: stdin,
  });
  expect(said.code, `${block}${said.err}`).toBe(0);
  return said.out;
};

test('"Places" can be typed: both hosts of a new place are invited before either has joined', async () => {
  const [invite, use] = blocksOf('places');
  await type(invite ?? '');
  const rows = await served.api.sql<{ name: string; continent: Continent; place: string }[]>`
    select name, continent, place_id as place from probe_invitations
    where organisation_id = ${house.organisation} order by key`;
  expect(rows.map(({ name }) => name)).toEqual(['Office 1', 'Office 2']);
  // The second is the first to join.
  for (const row of rows.toReversed())
    await served.api.sql.begin((sql) =>
      insertProbe(sql, newId(), { ...row, organisation: house.organisation, key: newId() }),
    );
  await served.api.sql`update probes set kinds = ${['https']}`;
  const said = await type(use ?? '');
  expect(said).toContain('Office');
  const [place] = await served.api.sql<{ names: string[]; place: string }[]>`
    select array_agg(p.name order by p.name) as names, min(l.name) as place
    from probes p join places l on l.id = p.place_id where p.organisation_id = ${house.organisation}`;
  expect(place).toEqual({ names: ['Office 1', 'Office 2'], place: 'Office' });
});

/** What needs more than this service, and why. */
const notTyped: readonly (readonly [RegExp, string])[] = [
  [/^(export ANTIPODE_URL|curl|chmod)/, 'the program is installed already'],
  [/^antipode check/, 'waits for probes'],
  [/^antipode run --ping/, 'pings a heartbeat that the reader has made'],
  [/^source /, 'needs a shell that completes'],
];

test('"The command-line client" can be typed, line by line', async () => {
  const block = blocksOf('command-line').join('');
  const lines = block.split('\n').filter((line) => line !== '');
  const typed = lines.filter((line) => !notTyped.some(([what]) => what.test(line)));
  expect(typed.length).toBeGreaterThanOrEqual(5);
  for (const line of typed) await type(line, `${house.admin.readWrite}\n`);
});
