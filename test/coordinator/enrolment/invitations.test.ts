import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { getMonitorChoices } from '../../../coordinator/monitors/contract.ts';
import { endOrganisation } from '../../../coordinator/offboarding/contract.ts';
import {
  createProbe,
  enrolProbe,
  invitePublicProbe,
  listAllProbeInvitations,
  revokeAnyProbeInvitation,
  revokeProbe,
  setProbeRegion,
} from '../../../coordinator/probes/contract.ts';
import { keepOrganisation } from '../../../coordinator/web/contract.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import {
  endProbe,
  inviteProbe,
  listProbeInvitations,
  listProbes,
  revokeProbeInvitation,
} from '../../../shared/api/probes.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { enrolmentAnswer, enrolmentProof } from '../../../shared/bus/identity.ts';
import { createKey, type Key, readJwt } from '../../../shared/bus/nkeys.ts';
import { inboxOf } from '../../../shared/bus/subjects.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const hour = 3_600_000;
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { plan: 'business' });
});
beforeEach(async () => {
  await bench.sql`delete from attempts`;
});

const probeInvitation = z.object({ token: z.string() });
const nairobi = () => ({ name: `Nairobi ${newId()}`, continent: 'Africa' });
const invitePrivate = (of = house) => bench.call(inviteProbe, of.admin, nairobi());
const atMachine = async (
  operation:
    | typeof invitePublicProbe
    | typeof listAllProbeInvitations
    | typeof revokeAnyProbeInvitation
    | typeof setProbeRegion
    | typeof createProbe,
  input = {},
) => (await bench.gate.executeForInstallation(operation, rawInput(operation, input))).body;

const enrol = async (token: string, key: Key, more: object = {}, address = newId()) => {
  const body = { token, key: key.id, proof: enrolmentProof(key, token), ...more };
  const answered = await bench.gate.executeForVisitor(
    enrolProbe,
    { address, device: 'test' },
    rawInput(enrolProbe, body),
  );
  return enrolmentAnswer.parse(answered.body);
};

const refusalOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return 'taken';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
};

const probesOf = async (name: string) =>
  bench.sql<{ id: string; organisation_id: string | null; keys: { key: string }[] }[]>`
    select id, organisation_id, keys from probes where name = ${name}`;

describe('an invitation', () => {
  test('is a token that is shown once, valid for an hour, and stored as a fingerprint', async () => {
    const made = await invitePrivate();
    expect(made.token).toMatch(/^svcj_[0-9A-Za-z]{40}$/);
    expect(made).toMatchObject({
      continent: 'Africa',
      state: 'open',
      probe: null,
      last_seen_at: null,
      shown: made.token.slice(0, 9),
    });
    expect(Date.parse(made.expires_at) - bench.now).toBe(hour);
    expect(made.command).toBe(
      `curl -fsSO https://antipode.test/downloads/antipode-probe.mjs && node antipode-probe.mjs join https://antipode.test ${made.token}`,
    );
    const kept =
      await bench.sql`select i::text as row from probe_invitations i union all select a::text from audit_log a`;
    expect(kept.length).toBeGreaterThan(0);
    expect(JSON.stringify(kept)).not.toContain(made.token.slice(9));
    const { items } = await bench.call(listProbeInvitations, house.owner);
    expect(items[0]).toMatchObject({ id: made.id, state: 'open' });
    expect(JSON.stringify(items)).not.toContain(made.token);
  });

  test('counts against the plan while it is open, and so does the probe that comes of it', async () => {
    const small = await createTestOrganisation(bench.sql, { plan: 'team' });
    const first = await invitePrivate(small);
    expect(await bench.refusal(inviteProbe, small.owner, nairobi())).toBe(
      'plan_limit_private_probes',
    );
    await bench.call(revokeProbeInvitation, small.owner, { probe_invitation_id: first.id });
    const second = await invitePrivate(small);
    bench.now += hour;
    const third = await invitePrivate(small);
    expect(second.id).not.toBe(third.id);
    await enrol(third.token, createKey('user'));
    bench.now += hour;
    expect(await bench.refusal(inviteProbe, small.owner, nairobi())).toBe(
      'plan_limit_private_probes',
    );
    const free = await createTestOrganisation(bench.sql, { plan: 'free' });
    expect(await bench.refusal(inviteProbe, free.owner, nairobi())).toBe(
      'plan_limit_private_probes',
    );
  });

  test('has a unique name for its owner, and an existing continent', async () => {
    const { name } = await invitePrivate();
    expect(await bench.refusal(inviteProbe, house.owner, { name, continent: 'Africa' })).toBe(
      'name_taken',
    );
    expect(
      await bench.refusal(inviteProbe, house.owner, { name: 'x', continent: 'Atlantis' }),
    ).toBe('continent_unknown');
    // What others call theirs is not told.
    const others = await createTestOrganisation(bench.sql, { plan: 'business' });
    expect(await bench.refusal(inviteProbe, others.owner, { name, continent: 'Africa' })).toBe(
      'taken',
    );
    expect(await atMachine(invitePublicProbe, { name, continent: 'Africa' })).toMatchObject({
      name,
      state: 'open',
    });
    expect(await refusalOf(atMachine(invitePublicProbe, { name, continent: 'Africa' }))).toBe(
      'name_taken',
    );
  });

  test('is revoked by owner, admin and operator, and its token is void then', async () => {
    const [mine, also] = [await invitePrivate(), await invitePrivate()];
    await bench.call(revokeProbeInvitation, house.owner, { probe_invitation_id: mine.id });
    await atMachine(revokeAnyProbeInvitation, { probe_invitation_id: also.id });
    for (const { id, token } of [mine, also]) {
      expect(await refusalOf(enrol(token, createKey('user')))).toBe('join_token_invalid');
      expect(
        await bench.refusal(revokeProbeInvitation, house.owner, { probe_invitation_id: id }),
      ).toBe('invitation_not_found');
    }
  });
});

describe('a private place', () => {
  let own: TestOrganisation;
  beforeAll(async () => {
    own = await createTestOrganisation(bench.sql, { plan: 'business' });
  });
  const joining = (more: object) => ({ name: newId(), ...more });
  const checkers = async (...names: readonly string[]) =>
    (await bench.call(listProbes, own.owner)).items.filter(({ name }) => names.includes(name));

  test('is joined by a second probe, which shares its monitors and takes them over when the first goes', async () => {
    const first = await invitePrivate(own);
    const { probe } = await enrol(first.token, createKey('user'));
    expect(first.place).toBeNull();
    const invitation = await bench.call(inviteProbe, own.admin, joining({ place: first.name }));
    expect(invitation).toMatchObject({ continent: 'Africa', place: probe });
    const spare = await enrol(invitation.token, createKey('user'));
    expect(spare).toMatchObject({ name: invitation.name, continent: 'Africa' });
    const place = { id: probe, name: first.name };
    expect(await checkers(first.name, invitation.name)).toMatchObject([{ place }, { place }]);
    const till = await bench.call(createMonitor, own.owner, {
      type: 'https',
      target: 'https://till.example',
      config: { probe: spare.probe },
    });
    expect(till.config).toEqual({ probe });
    expect((await bench.call(getMonitorChoices, own.owner)).places).toContainEqual({
      ...place,
      called: first.name,
      continent: 'Africa',
      probes: [first.name, invitation.name],
    });
    expect(await bench.call(endProbe, own.owner, { probe_id: probe })).toMatchObject({
      monitor_count: 0,
    });
    expect(await checkers(invitation.name)).toMatchObject([{ place }]);
    expect(
      await bench.refusal(inviteProbe, own.owner, { name: first.name, continent: 'Africa' }),
    ).toBe('name_taken');
    expect(await bench.call(endProbe, own.owner, { probe_id: spare.probe })).toMatchObject({
      monitors: [{ id: till.id }],
      monitor_count: 1,
    });
  });

  test('is joined by hosts that were invited before it had any, whoever comes first', async () => {
    const [first, next] = [await invitePrivate(own), newId()];
    const second = await bench.call(inviteProbe, own.admin, { name: next, place: first.name });
    const third = await bench.call(inviteProbe, own.admin, joining({ place: first.name }));
    expect([second, third]).toMatchObject([
      { continent: 'Africa', place: first.id },
      { continent: 'Africa', place: first.id },
    ]);
    const others = await createTestOrganisation(bench.sql);
    expect(await bench.refusal(inviteProbe, others.owner, joining({ place: first.name }))).toBe(
      'place_unknown',
    );
    for (const { token } of [third, first, second]) await enrol(token, createKey('user'));
    const place = { id: first.id, name: first.name };
    expect(await checkers(first.name, next, third.name)).toMatchObject([
      { place },
      { place },
      { place },
    ]);
    const unused = await invitePrivate(own);
    await bench.call(revokeProbeInvitation, own.admin, { probe_invitation_id: unused.id });
    expect(await bench.refusal(inviteProbe, own.admin, joining({ place: unused.name }))).toBe(
      'place_unknown',
    );
  });

  test('is one of the organisation, and knows its continent', async () => {
    const { name, token } = await invitePrivate(own);
    const { probe: place } = await enrol(token, createKey('user'));
    const others = await createTestOrganisation(bench.sql);
    for (const called of [name, place])
      expect(await bench.refusal(inviteProbe, others.owner, joining({ place: called }))).toBe(
        'place_unknown',
      );
    expect(await bench.refusal(inviteProbe, own.owner, joining({ place: newId() }))).toBe(
      'place_unknown',
    );
    expect(await bench.refusal(inviteProbe, own.owner, joining({ place, continent: 'Asia' }))).toBe(
      'continent_unknown',
    );
    expect(await bench.refusal(inviteProbe, own.owner, joining({}))).toBe('continent_unknown');
    expect(
      await bench.call(inviteProbe, own.owner, joining({ place, continent: 'Africa' })),
    ).toMatchObject({ place });
  });

  test('takes back its own host alone', async () => {
    const key = createKey('user');
    const [one, two] = [await invitePrivate(own), await invitePrivate(own)];
    const { probe } = await enrol(one.token, key);
    const { probe: place } = await enrol(two.token, createKey('user'));
    const invitation = await bench.call(inviteProbe, own.owner, joining({ place }));
    expect(await refusalOf(enrol(invitation.token, key))).toBe('join_proof_invalid');
    const back = await bench.call(inviteProbe, own.owner, joining({ place: probe }));
    expect(await enrol(back.token, key)).toMatchObject({ probe, name: one.name });
  });
});

describe('a host that enrols', () => {
  test('becomes the private probe, and receives all but its own secret', async () => {
    const invitation = await invitePrivate();
    const key = createKey('user');
    const answer = await enrol(invitation.token, key);
    expect(answer).toMatchObject({
      name: invitation.name,
      continent: 'Africa',
      organisation: house.organisation,
    });
    expect(answer).toMatchObject({
      nats_url: 'nats://127.0.0.1:4222',
      nats_ca: null,
      base_url: 'https://antipode.test',
      now: bench.now,
    });
    expect(JSON.stringify(answer)).not.toContain(key.seed);
    const claims = readJwt(answer.jwt);
    expect(claims.sub).toBe(key.id);
    expect(claims.exp).toBe(Math.floor((bench.now + 30 * 24 * hour) / 1_000));
    expect(JSON.stringify(claims.nats)).toContain(inboxOf(answer.probe));
    expect(await probesOf(invitation.name)).toEqual([
      {
        id: answer.probe,
        organisation_id: house.organisation,
        keys: [{ key: key.id, until: null }],
      },
    ]);
    const { items } = await bench.call(listProbeInvitations, house.owner);
    expect(items.find(({ id }) => id === invitation.id)).toMatchObject({
      state: 'used',
      probe: answer.probe,
    });
  });

  test('becomes a public probe by the operator’s token', async () => {
    const made = await atMachine(invitePublicProbe, nairobi());
    if (typeof made !== 'object' || made === null || !('token' in made))
      throw new Error('no token');
    const answer = await enrol(String(made.token), createKey('user'));
    expect(answer.organisation).toBeNull();
    expect(JSON.stringify(await atMachine(listAllProbeInvitations))).toContain(answer.probe);
  });

  test('becomes a public probe of the region that its token names, and no other; the operator can change it', async () => {
    const named = { ...nairobi(), region: 'Nairobi' };
    const invited = async (more = {}) => {
      const input = { ...named, name: newId(), ...more };
      const made = await atMachine(invitePublicProbe, input);
      return probeInvitation.parse(made).token;
    };
    const key = createKey('user');
    const { probe } = await enrol(await invited(), key);
    const regionNow = async () =>
      (await bench.call(listProbes, house.owner, { limit: 200 })).items.find(
        ({ id }) => id === probe,
      )?.region;
    await bench.sql`update probes set last_seen_at = now() where id = ${probe}`;
    expect(await regionNow()).toBe('Nairobi');
    expect(await refusalOf(enrol(await invited({ region: 'Mombasa' }), key))).toBe(
      'join_proof_invalid',
    );
    expect(await enrol(await invited({ region: null }), key)).toMatchObject({ probe });
    expect(await atMachine(setProbeRegion, { probe_id: probe, region: ' Mombasa ' })).toMatchObject(
      { id: probe, region: 'Mombasa' },
    );
    expect(await regionNow()).toBe('Mombasa');
    expect(await atMachine(setProbeRegion, { probe_id: probe })).toMatchObject({ region: null });
    for (const region of ['Europe', 'a/b', 'continent:Africa', ' ', 'x'.repeat(81)])
      expect(await refusalOf(invited({ region }))).toBe('name_invalid');
  });

  test('is of no region where it is private', async () => {
    const { probe } = await enrol((await invitePrivate()).token, createKey('user'));
    expect(
      await refusalOf(atMachine(setProbeRegion, { probe_id: probe, region: 'Kilimani' })),
    ).toBe('probe_not_found');
    const own = { ...nairobi(), organisation: house.organisation, region: 'Kilimani' };
    expect(await refusalOf(atMachine(createProbe, own))).toBe('name_invalid');
  });

  test('and is killed before the answer arrives, asks again and gets the same; any other host is refused', async () => {
    const { token, name } = await invitePrivate();
    const key = createKey('user');
    const first = await enrol(token, key);
    bench.now += 2 * hour;
    const again = await enrol(token, key);
    expect(again).toMatchObject({ probe: first.probe, name });
    expect(readJwt(again.jwt).exp).toBe(Math.floor((bench.now + 30 * 24 * hour) / 1_000));
    const thief = createKey('user');
    expect(await refusalOf(enrol(token, thief))).toBe('join_token_used');
    // The key of the host is no secret; what it signs is.
    expect(await refusalOf(enrol(token, thief, { key: key.id }))).toBe('join_proof_invalid');
    expect(await probesOf(name)).toHaveLength(1);
  });

  test('at the same time as another with the same token: one becomes the probe, the other is refused', async () => {
    const { token, name } = await invitePrivate();
    const outcomes = await Promise.all(
      [createKey('user'), createKey('user')].map((key) => refusalOf(enrol(token, key))),
    );
    expect(outcomes.toSorted()).toEqual(['join_token_used', 'taken']);
    expect(await probesOf(name)).toHaveLength(1);
  });

  test('too late, with an invalid token, or with a proof of another token: refused, and nothing is created', async () => {
    const late = await invitePrivate();
    const other = await invitePrivate();
    const key = createKey('user');
    expect(
      await refusalOf(enrol(late.token, key, { proof: enrolmentProof(key, other.token) })),
    ).toBe('join_proof_invalid');
    expect(await refusalOf(enrol(late.token, key, { key: 'U' }))).toBe('join_proof_invalid');
    for (const wrong of [
      '',
      'svcj_',
      `${late.token}x`,
      late.token.replace('svcj_', 'svc_'),
      `svcj_${'0'.repeat(40)}`,
    ])
      expect(await refusalOf(enrol(wrong, key))).toBe('join_token_invalid');
    bench.now += hour;
    expect(await refusalOf(enrol(late.token, key))).toBe('join_token_expired');
    expect(await probesOf(late.name)).toEqual([]);
  });

  test('and was off for longer than its credentials live, is restored by a new token, of the same place alone', async () => {
    const { token, name } = await invitePrivate();
    const key = createKey('user');
    const { probe } = await enrol(token, key);
    bench.now += 40 * 24 * hour;
    const elsewhere = await bench.call(inviteProbe, house.admin, {
      name: newId(),
      continent: 'Asia',
    });
    const others = await bench.call(
      inviteProbe,
      (await createTestOrganisation(bench.sql)).admin,
      nairobi(),
    );
    for (const wrong of [elsewhere, others])
      expect(await refusalOf(enrol(wrong.token, key))).toBe('join_proof_invalid');
    // Nothing of these was spent.
    await bench.call(revokeProbeInvitation, house.owner, { probe_invitation_id: elsewhere.id });
    const again = await invitePrivate();
    const answer = await enrol(again.token, key);
    expect(answer).toMatchObject({
      probe,
      name,
      continent: 'Africa',
      organisation: house.organisation,
    });
    expect(readJwt(answer.jwt)).toMatchObject({
      sub: key.id,
      exp: Math.floor((bench.now + 30 * 24 * hour) / 1_000),
    });
    expect(await probesOf(again.name)).toEqual([]);
    // Killed before it heard the answer.
    expect(await enrol(again.token, key)).toMatchObject({ probe, name });
    expect(await refusalOf(enrol(again.token, createKey('user')))).toBe('join_token_used');
    await bench.gate.executeForInstallation(revokeProbe, { path: { probe_id: probe } });
    expect(await refusalOf(enrol((await invitePrivate()).token, key))).toBe('join_proof_invalid');
  });

  test('after its probe was revoked, is refused', async () => {
    const { token, name } = await invitePrivate();
    const key = createKey('user');
    const { probe } = await enrol(token, key);
    await bench.gate.executeForInstallation(revokeProbe, { path: { probe_id: probe } });
    expect(await refusalOf(enrol(token, key))).toBe('join_token_invalid');
    // Its name is free again.
    expect(await bench.refusal(inviteProbe, house.owner, { name, continent: 'Africa' })).toBe(
      'taken',
    );
  });

  test('finds its name taken meanwhile: nothing is spent', async () => {
    const { token, name } = await invitePrivate();
    const create = { name, continent: 'Africa', organisation: house.organisation };
    await bench.gate.executeForInstallation(createProbe, rawInput(createProbe, create));
    expect(await refusalOf(enrol(token, createKey('user')))).toBe('name_taken');
    const [row] = await bench.sql`select used_at from probe_invitations where name = ${name}`;
    expect(row).toEqual({ used_at: null });
  });

  test('guesses no tokens: after sixty tries from one address none from there is read for a while', async () => {
    const { token } = await invitePrivate();
    const key = createKey('user');
    for (let tries = 0; tries < 60; tries += 1)
      await refusalOf(enrol('svcj_', key, {}, '192.0.2.1'));
    expect(await refusalOf(enrol(token, key, {}, '192.0.2.1'))).toBe('too_many_attempts');
    expect(await refusalOf(enrol(token, key, {}, '192.0.2.2'))).toBe('taken');
  });

  test('of an organisation that is about to end is valid again when that is undone', async () => {
    const ending = await createTestOrganisation(bench.sql, { plan: 'business' });
    const { token } = await invitePrivate(ending);
    const key = createKey('user');
    await bench.call(endOrganisation, ending.owner, { name: ending.name });
    expect(await refusalOf(enrol(token, key))).toBe('organisation_ending');
    await bench.call(keepOrganisation, ending.owner);
    expect(await refusalOf(enrol(token, key))).toBe('taken');
  });
});
