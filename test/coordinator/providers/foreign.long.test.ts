import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  beginProviderSignIn,
  finishProviderSignIn,
} from '../../../coordinator/providers/contract.ts';
import { createProviderWatch } from '../../../coordinator/providers/removal.ts';
import { freePort } from '../../../deploy/local/home.ts';
import { createLog } from '../../../shared/base/log.ts';
import { gateBench, signUpPolicyOf } from '../../support/gate.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { type ChildProgram, startChildProgram } from '../../support/processes.ts';
import { pythonWith } from '../../support/python.ts';
import { openProviderPlace } from '../../support/sign-in-providers.ts';

/** A provider that others wrote in another language, on Authlib, over TLS. */

const program = `
import sys, uvicorn
from oidc_provider_mock import app
port, certificate, key = sys.argv[1:]
uvicorn.run(app(require_nonce=True), interface="wsgi", host="127.0.0.1", port=int(port),
            ssl_certfile=certificate, ssl_keyfile=key)
`;

const python = await pythonWith(['oidc-provider-mock==0.3.4'], 'oidc_provider_mock, uvicorn');
const place = openProviderPlace(['login.example']);
const port = await freePort();
const issuer = `https://login.example:${port}`;
const part = place.part(issuer);
const bench = gateBench(undefined, undefined, undefined, () => part);
const door = signUpPolicyOf(bench);
const browser = new Agent({
  connect: {
    lookup: (_host, { all }, done) =>
      all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
  },
});
let folder = '';
let foreign: ChildProgram | undefined;

const post = (path: string, body: unknown, method: 'POST' | 'PUT' = 'POST') =>
  request(`${issuer}${path}`, {
    method,
    dispatcher: browser,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const withGroups = (groups: readonly string[]) =>
  post(
    '/users/ada',
    { email: 'ada@corp.example', email_verified: true, name: 'Ada', groups },
    'PUT',
  );

beforeAll(async () => {
  await createTestOrganisation(bench.sql, { name: 'Shop' });
  if (python === undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'antipode-foreign-'));
  const files = [join(folder, 'certificate.pem'), join(folder, 'key.pem')] as const;
  await writeFile(files[0], place.tls.certificate);
  await writeFile(files[1], place.tls.key);
  foreign = await startChildProgram(
    [python, '-W', 'ignore', '-c', program, String(port), ...files],
    {},
    (output) => output.includes('Uvicorn running'),
  );
});
afterAll(async () => {
  foreign?.signal('SIGKILL');
  await browser.close();
  await place.close();
  if (folder !== '') await rm(folder, { recursive: true });
});

const comeIn = async () => {
  const { address, secret } = await door.visit(beginProviderSignIn, { provider: 'installation' });
  const agreed = await request(address, {
    method: 'POST',
    dispatcher: browser,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'sub=ada',
  });
  const back = new URL(String(agreed.headers.location));
  const answer = back.search.slice(1);
  return door.visit(finishProviderSignIn, { provider: 'installation', secret, answer });
};

/** A minute passes, with a tick at its end. */
const minute = async (): Promise<void> => {
  bench.now += 60_000;
  await createProviderWatch({
    sql: bench.sql,
    clock: { now: () => bench.now },
    log: createLog({ name: 't', level: 'silent' }),
    secrets: bench.secrets,
    providers: part,
    isLeader: () => true,
  }).tick();
};

describe.skipIf(python === undefined)('a foreign provider', () => {
  test('lets in, gives roles, and ends all within a minute of a removal', async () => {
    await withGroups(['admins']);
    const { session } = await comeIn();
    expect(await door.signedIn(session ?? '')).toMatchObject({
      person: { email: 'ada@corp.example', name: 'Ada' },
      caller: { role: 'admin' },
    });
    await withGroups(['people']);
    await minute();
    expect((await door.signedIn(session ?? '')).caller?.role).toBe('viewer');
    await minute();
    expect(await door.who(session ?? '')).toBeDefined();
    await post('/users/ada/revoke-tokens', {});
    await minute();
    expect(await door.who(session ?? '')).toBeUndefined();
  });
});
