import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../../shared/client/cli.ts';
import { exits, type Surroundings } from '../../../shared/client/http.ts';
import { openServed, type Served } from '../../support/api.ts';

let served: Served;
const folder = mkdtempSync(join(tmpdir(), 'antipode-login-'));
const ANTIPODE_SETTINGS = join(folder, 'deep/settings.json');
beforeAll(async () => {
  served = await openServed();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await served.close();
});

const login = async (given: readonly string[], answers: readonly (string | undefined)[], attended = true) => {
  const said = { out: '', err: '', questions: [] as (readonly [string, string | undefined])[] };
  const left = [...answers];
  const world: Surroundings = {
    given: ['login', ...given],
    environment: { ANTIPODE_SETTINGS },
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    columns: 80,
    attended,
    ask: async (question, secret) => {
      said.questions.push([question, secret]);
      return left.shift();
    },
    readText: (path) => (path === '-' ? `${left.shift()}\n` : ''),
    now: () => Date.now(),
  };
  const code = await runCli(world);
  return { code, ...said };
};

test('nothing is written when whoever is asked leaves, or the service does not know the token', async () => {
  expect(await login([served.url], [undefined])).toMatchObject({
    code: exits.interrupted,
    err: expect.stringContaining('Nothing was written'),
  });
  const unknown = await login([served.url], ['svc_nothing']);
  expect(unknown).toMatchObject({ code: exits.token, err: expect.stringContaining('token_invalid') });
  expect((await login(['ftp://a.example'], [])).code).toBe(exits.usage);
  expect((await login([served.url, served.house.member.read], [])).code).toBe(exits.usage);
  expect(() => statSync(ANTIPODE_SETTINGS)).toThrow('ENOENT');
});

test('the token is asked for unseen, tried, and written for nobody else to read', async () => {
  const token = served.house.member.readWrite;
  const { code, out, err, questions } = await login([], [`${served.url}/`, ` ${token} `]);
  expect(code).toBe(exits.done);
  expect(questions.map(([, secret]) => secret)).toEqual([undefined, 'secret']);
  expect(err).toContain(`${served.url}/tokens/new`);
  expect(out).toContain('as member; this token may look and change');
  expect(out + err).not.toContain(token);
  expect(JSON.parse(readFileSync(ANTIPODE_SETTINGS, 'utf8'))).toEqual({ url: served.url, token });
  expect(statSync(ANTIPODE_SETTINGS).mode & 0o777).toBe(0o600);
});

test('where nobody can be asked the token comes by standard input, and the known address serves', async () => {
  const token = served.house.viewer.read;
  expect(await login([], [token], false)).toMatchObject({
    code: exits.done,
    out: expect.stringContaining('this token may look\n'.slice(0, -1)),
    questions: [],
  });
  expect(JSON.parse(readFileSync(ANTIPODE_SETTINGS, 'utf8'))).toEqual({ url: served.url, token });
});
