import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openOwnCredentials } from '../../../probe/presence/knowledge.ts';
import { isRenewalDue, probePermissions } from '../../../shared/bus/identity.ts';
import { createKey, formatCredentials, mintUser, parseCredentials } from '../../../shared/bus/nkeys.ts';
import { eventually } from '../../support/eventually.ts';
import { silentLog as log } from '../support/surroundings.ts';

const day = 86_400_000;
const account = createKey('account');
const key = createKey('user');
const began = 1_800_000_000_000;

const jwtUntil = (
  days: number | undefined,
  of: { readonly account?: typeof account; readonly user?: string; readonly relayed?: boolean } = {},
): string =>
  mintUser(
    {
      name: 'p',
      user: of.user ?? key.id,
      account: of.account ?? account,
      permissions: probePermissions({ probe: 'p', continent: 'Europe', organisation: 'o' }, !of.relayed),
      ...(days === undefined ? {} : { expiresAt: began + days * day }),
    },
    began,
  );

let folder: string;
let entered: number;
const bus = {
  reconnect: async () => {
    entered += 1;
  },
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-own-'));
  entered = 0;
});
afterEach(() => rm(folder, { recursive: true }));

const open = (jwt: string) => openOwnCredentials({ folder, probe: 'p', given: formatCredentials({ jwt, seed: key.seed }), log });

describe('credentials of a probe', () => {
  test('are due when two thirds of their life are over, and not before', () => {
    const life = { issued_at: began, ends_at: began + 30 * day };
    expect(isRenewalDue(life, began + 20 * day - 1)).toBe(false);
    expect(isRenewalDue(life, began + 20 * day)).toBe(true);
    expect(isRenewalDue(life, began + 40 * day)).toBe(true);
  });

  test('that have ended tell what to do, and joining again brings newer ones than those on the disk', async () => {
    const own = await open(jwtUntil(30));
    expect(own.ended(began + 30 * day - 1)).toBeUndefined();
    expect(own.ended(began + 30 * day)).toContain('antipode-probe.mjs join');
    expect((await open(jwtUntil(undefined))).ended(began + 900 * day)).toBeUndefined();
    own.hear({ jwt: jwtUntil(50) }, bus);
    await eventually(() => entered === 1);
    const joined = await open(jwtUntil(90));
    expect(joined.ended(began + 60 * day)).toBeUndefined();
  });

  test('that never end say nothing of an end, and are not replaced by others with the same rights', async () => {
    const own = await open(jwtUntil(undefined));
    expect(own.described()).toEqual({ rights: { key: key.id, issued_at: began, relayed: false } });
    own.hear({ jwt: jwtUntil(60) }, bus);
    expect(parseCredentials(own.text()).jwt).toBe(jwtUntil(undefined));
    expect(entered).toBe(0);
  });

  test('are renewed: first on the disk, then the bus is entered anew; and a later start goes on with them', async () => {
    const own = await open(jwtUntil(30));
    expect(own.described()).toMatchObject({ credentials: { key: key.id, issued_at: began, ends_at: began + 30 * day } });
    own.hear({ jwt: jwtUntil(50) }, bus);
    await eventually(() => entered === 1);
    expect(parseCredentials(own.text())).toEqual({ jwt: jwtUntil(50), seed: key.seed });
    expect((await stat(join(folder, 'renewed.jwt'))).mode & 0o777).toBe(0o600);
    expect((await open(jwtUntil(30))).text()).toBe(own.text());
    // Whoever was given newer ones than those on the disk goes on with these.
    expect(parseCredentials((await open(jwtUntil(80))).text()).jwt).toBe(jwtUntil(80));
  });

  test('that are relayed replace direct ones, even those that never end, and direct ones never replace them', async () => {
    const relayed = jwtUntil(30, { relayed: true });
    const own = await open(jwtUntil(undefined));
    own.hear({ jwt: relayed }, bus);
    await eventually(() => entered === 1);
    expect(own.isRelayed()).toBe(true);
    expect(own.described()).toMatchObject({ rights: { key: key.id, issued_at: began, relayed: true } });
    own.hear({ jwt: jwtUntil(60) }, bus);
    expect(parseCredentials(own.text()).jwt).toBe(relayed);
    expect(parseCredentials((await open(jwtUntil(undefined))).text()).jwt).toBe(relayed);
  });

  test('of another key, of another account, shorter ones, or no JWT at all change nothing', async () => {
    const own = await open(jwtUntil(30));
    const others = [jwtUntil(50, { user: createKey('user').id }), jwtUntil(50, { account: createKey('account') }), jwtUntil(20), 'x'];
    for (const jwt of others) own.hear({ jwt }, bus);
    own.hear({}, bus);
    expect(parseCredentials(own.text()).jwt).toBe(jwtUntil(30));
    expect(entered).toBe(0);
    await expect(readFile(join(folder, 'renewed.jwt'))).rejects.toThrow();
  });

  test('that cannot be read on the disk give way to those that were given', async () => {
    await writeFile(join(folder, 'renewed.jwt'), 'half of it');
    expect(parseCredentials((await open(jwtUntil(30))).text()).jwt).toBe(jwtUntil(30));
  });
});
