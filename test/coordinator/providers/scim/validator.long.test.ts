import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRecord } from '../../../../shared/base/json.ts';
import { gateBench } from '../../../support/gate.ts';
import { createTestOrganisation } from '../../../support/people.ts';
import { runProgram } from '../../../support/processes.ts';
import { pythonWith } from '../../../support/python.ts';
import { openScim, type ScimFace } from '../../../support/scim.ts';
import { openProviderPlace } from '../../../support/sign-in-providers.ts';

/** scim2-tester, a validator of others (in Python), asks all that it knows of us, by http. */

const program = `
import json, sys
from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server
base, token = sys.argv[1:]
http = Client(base_url=base, headers={"Authorization": "Bearer " + token}, timeout=60)
for one in check_server(SyncSCIMClient(http)):
    print(json.dumps({"status": one.status.name, "title": one.title, "of": one.resource_type, "reason": str(one.reason)}))
`;

const python = await pythonWith(
  ['scim2-tester==0.5.2', 'scim2-client==0.13.2', 'scim2-models==0.12.3', 'httpx2==2.16.2'],
  'scim2_tester, httpx2',
);
const token = 'a-token-of-the-installation-of-32-characters';
const place = openProviderPlace(['login.example']);
const bench = gateBench(undefined, undefined, undefined, () => part);
const usual = place.part('https://login.example');
const part = {
  ...usual,
  installation: usual.installation && { ...usual.installation, scim_token: token },
};
let face: ScimFace;

beforeAll(async () => {
  await createTestOrganisation(bench.sql);
  face = openScim(bench, { providers: part });
});
afterAll(async () => {
  await face.close();
  await place.close();
});

/** What it calls a fault, and why it is none. */
const known: readonly (readonly [RegExp, string])[] = [
  [
    /did not remove attribute 'active'/,
    'whoever is not turned off is on: RFC 7643 lets us default',
  ],
];

describe.skipIf(python === undefined)('a foreign validator', () => {
  test('finds no fault', async () => {
    const url = await face.app.listen({ host: '127.0.0.1', port: 0 });
    const said = await runProgram([python ?? '', '-c', program, `${url}/scim/v2`, token]);
    expect(said.err).toBe('');
    const results = said.out
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
      .filter(isRecord);
    const passed = results.filter(({ status }) => status === 'SUCCESS');
    const faults = results
      .filter(({ status }) => status !== 'SUCCESS' && status !== 'SKIPPED')
      .map(({ status, title, of, reason }) => `${status} ${of} ${title}: ${reason}`);
    expect(faults.filter((text) => !known.some(([fault]) => fault.test(text)))).toEqual([]);
    expect(known.filter(([fault]) => !faults.some((text) => fault.test(text)))).toEqual([]);
    expect(passed.length).toBeGreaterThan(40);
  }, 300_000);
});
