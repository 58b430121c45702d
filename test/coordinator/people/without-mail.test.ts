import { beforeAll, expect, test } from 'vitest';
import {
  changeEmail,
  requestPasswordReset,
  showSignUpPolicy,
  signIn,
  signUp,
} from '../../../coordinator/people/contract.ts';
import { inviteMember } from '../../../shared/api/members.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOfRefusal, gateBench, signUpPolicyOf } from '../../support/gate.ts';
import { createTestOrganisation, inPerson, type TestOrganisation } from '../../support/people.ts';

/** An installation without mail, as `npm start` makes one. */
const bench = gateBench();
const door = signUpPolicyOf(bench);
const password = 'correct horse';
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
});

test('sign-up requires an invitation', async () => {
  const application = {
    email: 'ada@shop.example',
    password,
    name: 'Ada',
    organisation: 'Engines',
    time_zone: 'UTC',
  };
  expect(await codeOfRefusal(door.visit(signUp, application))).toBe('sign_up_closed');
  expect(await door.visit(showSignUpPolicy, {})).toMatchObject({ sign_up: 'invited', mail: false });
});

test('an invitation is shown to its creator; it creates an account with an unverified address, and signs no one in by itself', async () => {
  const { address } = await bench.call(inviteMember, inPerson(house.owner), {
    email: 'bo@shop.example',
    role: 'member',
  });
  const [, secret] = /^https:\/\/antipode\.test\/join\/([\w-]{43})$/.exec(address ?? '') ?? [];
  const email = `bo-${newId()}@shop.example`;
  const application = { email, password, name: 'Bo', invitation_secret: secret };
  const { session, must_confirm } = await door.visit(signUp, application);
  expect(must_confirm).toBe(false);
  expect(await door.signedIn(session ?? '')).toMatchObject({
    person: { email, email_verified: false },
    caller: { organisation: { name: 'Shop' }, role: 'member' },
  });
  expect(await codeOfRefusal(door.visit(signUp, application))).toBe('link_invalid');
  expect(await codeOfRefusal(door.visit(signIn, { email, password }))).toBe('taken');
});

test('a forgotten password names what the operator can do', async () => {
  const words = await door
    .visit(requestPasswordReset, { email: 'ada@shop.example' })
    .then(String, String);
  expect(words).toContain('npm run operator -- user sign-in-link --email ada@shop.example');
});

test('an e-mail address changes at once and counts as not proven; one that is taken is refused', async () => {
  const session = await door.comeIn(house.member.email);
  const { person } = await door.signedIn(session);
  const email = `new-${newId()}@shop.example`;
  expect(await door.act(changeEmail, person, { email })).toEqual({ email, must_confirm: false });
  expect((await door.signedIn(session)).person).toMatchObject({ email, email_verified: false });
  expect(await codeOfRefusal(door.act(changeEmail, person, { email: house.owner.email }))).toBe(
    'email_taken',
  );
});
