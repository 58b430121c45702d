import { describe, expect, test } from 'vitest';
import { createUser, leaveOrganisation } from '../../../coordinator/organisations/contract.ts';
import {
  acceptInvitation,
  finishSignUp,
  showInvitation,
  signUp,
} from '../../../coordinator/people/contract.ts';
import {
  inviteMember,
  listInvitations,
  listMembers,
  removeMember,
  setMemberRole,
  withdrawInvitation,
} from '../../../shared/api/members.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOfRefusal, signUpByMail } from '../../support/gate.ts';
import { createTestOrganisation, inPerson } from '../../support/people.ts';

const installation = signUpByMail();
const { bench, door, password, fresh, mailTo, secretIn, newcomer } = installation;

describe('an invitation', () => {
  const invite = async (role = 'member') => {
    const email = fresh();
    const invited = await bench.call(inviteMember, inPerson(installation.house.admin), {
      email,
      role,
    });
    return { ...invited, secret: secretIn((await mailTo(email))?.text, 'join') };
  };

  test('adds the user who signs in, whatever address it was sent to, once', async () => {
    const { secret, address } = await invite('viewer');
    expect(address).toBeNull();
    expect(await door.visit(showInvitation, { secret })).toEqual({
      email: expect.stringContaining('@'),
      organisation: 'Shop',
      role: 'viewer',
      inviter: installation.house.admin.email,
      passkeys: 'https://antipode.test',
    });
    const { email, session } = await newcomer();
    const { person } = await door.signedIn(session);
    expect(await door.act(acceptInvitation, person, { secret })).toMatchObject({
      id: installation.house.organisation,
      role: 'viewer',
    });
    expect((await door.signedIn(session)).caller).toMatchObject({
      organisation: { name: 'Shop' },
      role: 'viewer',
    });
    const { items } = await bench.call(listMembers, installation.house.viewer);
    expect(items.find((member) => member.email === email)?.role).toBe('viewer');
    const another = await door.signedIn((await newcomer()).session);
    expect(await codeOfRefusal(door.act(acceptInvitation, another.person, { secret }))).toBe(
      'link_invalid',
    );
  });

  test('lets a new user sign up without an organisation of their own, and join when the address is verified', async () => {
    const { secret } = await invite();
    const email = fresh();
    await door.visit(signUp, { email, password, name: 'Bo', invitation_secret: secret });
    const { session } = await door.visit(finishSignUp, {
      secret: secretIn((await mailTo(email))?.text, 'finish'),
      password,
    });
    expect((await door.signedIn(session)).caller).toMatchObject({
      organisation: { name: 'Shop' },
      role: 'member',
    });
  });

  test('proves the address that it was mailed to: a new user is in at once', async () => {
    const { email, secret } = await invite('viewer');
    const made = await door.visit(signUp, {
      email: email.toUpperCase(),
      password,
      name: 'Cleo',
      invitation_secret: secret,
    });
    expect(made).toMatchObject({ must_confirm: false });
    expect((await door.signedIn(made.session ?? '')).caller).toMatchObject({
      organisation: { name: 'Shop' },
      role: 'viewer',
    });
    const [user] = await bench.sql<
      { verified: boolean }[]
    >`select email_verified_at is not null as verified from users where lower(email) = lower(${email})`;
    expect(user).toEqual({ verified: true });
  });

  test('whose link somebody else was shown proves no address', async () => {
    const { id, email, secret } = await invite();
    await bench.sql`update invitations set mailed = false where id = ${id}`;
    expect(
      await door.visit(signUp, { email, password, name: 'Di', invitation_secret: secret }),
    ).toMatchObject({ session: null, must_confirm: true });
  });

  test('is listed until it is used, revoked, or a week old; a second one ends the earlier link', async () => {
    const { id, email, secret } = await invite();
    const again = await bench.call(inviteMember, inPerson(installation.house.owner), {
      email,
      role: 'admin',
    });
    expect(await codeOfRefusal(door.visit(showInvitation, { secret }))).toBe('link_invalid');
    const { items } = await bench.call(listInvitations, installation.house.owner);
    expect(items.filter((one) => one.email === email)).toMatchObject([
      { id: again.id, role: 'admin', inviter: installation.house.owner.email },
    ]);
    expect(
      await bench.refusal(withdrawInvitation, inPerson(installation.house.owner), {
        invitation_id: id,
      }),
    ).toBe('invitation_not_found');
    await bench.call(withdrawInvitation, inPerson(installation.house.owner), {
      invitation_id: again.id,
    });
    const late = await invite();
    const before = bench.now;
    bench.now = before + 8 * 86_400_000;
    expect(await codeOfRefusal(door.visit(showInvitation, { secret: late.secret }))).toBe(
      'link_invalid',
    );
    bench.now = before;
  });

  test('is created as far as the plan goes, and not for a member', async () => {
    expect(
      await bench.refusal(inviteMember, inPerson(installation.house.owner), {
        email: installation.house.viewer.email,
        role: 'member',
      }),
    ).toBe('already_member');
    expect(
      await bench.refusal(inviteMember, inPerson(installation.house.owner), {
        email: fresh(),
        role: 'boss',
      }),
    ).toBe('role_unknown');
    const { session } = await newcomer();
    const { caller } = await door.signedIn(session);
    if (!caller) throw new Error('no organisation');
    await bench.sql`update organisations set plan = 'free' where id = ${caller.organisation.id}`;
    expect(
      await bench.refusal(inviteMember, inPerson(caller), { email: fresh(), role: 'member' }),
    ).toBe('plan_limit_members');
  });

  test('counts as a member of the plan while it waits, is sent to a installation.mailbox five times at most, and thirty times for an organisation', async () => {
    const small = await createTestOrganisation(bench.sql, {
      plan: 'team',
      name: 'https://evil.example/win',
    });
    const codes = [];
    for (let index = 0; index < 8; index += 1)
      codes.push(
        await codeOfRefusal(
          bench.call(inviteMember, inPerson(small.owner), { email: fresh(), role: 'viewer' }),
        ),
      );
    expect(codes.slice(-2)).toEqual(['plan_limit_members', 'plan_limit_members']);
    await bench.sql`update organisations set plan = 'business' where id = ${small.organisation}`;
    const email = fresh();
    const again = [];
    for (let index = 0; index < 6; index += 1)
      again.push(
        await codeOfRefusal(
          bench.call(inviteMember, inPerson(small.owner), { email, role: 'viewer' }),
        ),
      );
    expect(again).toEqual([...Array.from({ length: 5 }, () => 'taken'), 'too_many_attempts']);
    expect((await mailTo(email))?.subject).toBe('You are invited to an organisation on Antipode');
    const many = [];
    for (let index = 0; index < 20; index += 1)
      many.push(
        await codeOfRefusal(
          bench.call(inviteMember, inPerson(small.owner), { email: fresh(), role: 'viewer' }),
        ),
      );
    expect(many.at(-1)).toBe('too_many_attempts');
  });

  test('ends with the right of whoever made it: a former admin does not come back by it', async () => {
    const shop = await createTestOrganisation(bench.sql);
    const { owner, admin } = shop;
    const manager = async (role: string) => {
      const email = fresh();
      const { id } = await bench.call(createUser, inPerson(owner), { email, role, password });
      return { ...(role === 'owner' ? owner : admin), email, user: id };
    };
    const invited = async (who: Awaited<ReturnType<typeof manager>>, role: string) => {
      const by = { ...who.caller, user: who.user };
      return (await bench.call(inviteMember, inPerson(by), { email: fresh(), role })).id;
    };
    const pending = async () =>
      (await bench.call(listInvitations, owner)).items.map(({ id }) => id);
    const kept = await invited(admin, 'admin');

    const removed = await manager('admin');
    await invited(removed, 'admin');
    await bench.call(removeMember, inPerson(owner), { member_id: removed.user });
    expect(await pending()).toEqual([kept]);

    const left = await manager('admin');
    await invited(left, 'member');
    await bench.call(leaveOrganisation, { ...left.caller, user: left.user });
    expect(await pending()).toEqual([kept]);

    const lowered = await manager('owner');
    await invited(lowered, 'owner');
    const asAdmin = await invited(lowered, 'admin');
    await bench.call(setMemberRole, inPerson(owner), { member_id: lowered.user, role: 'admin' });
    expect(await pending()).toEqual([kept, asAdmin]);
    await bench.call(setMemberRole, inPerson(owner), { member_id: lowered.user, role: 'member' });
    expect(await pending()).toEqual([kept]);
  });

  test('adds no one when the plan is full by then, also when two are used at once', async () => {
    const small = await createTestOrganisation(bench.sql, { plan: 'business', name: 'Small' });
    const secrets: string[] = [];
    for (let index = 0; index < 8; index += 1) {
      const email = fresh();
      await bench.call(inviteMember, inPerson(small.owner), { email, role: 'viewer' });
      secrets.push(secretIn((await mailTo(email))?.text, 'join'));
    }
    await bench.sql`update organisations set plan = 'team' where id = ${small.organisation}`;
    const people = await Promise.all(
      secrets.map(async (_, index) => {
        const email = `joiner-${index}-${newId()}@shop.example`;
        await bench.call(createUser, installation.house.owner, { email, password, role: 'viewer' });
        return (await door.signedIn(await door.comeIn(email))).person;
      }),
    );
    const codes = await Promise.all(
      people.map((person, index) =>
        codeOfRefusal(door.act(acceptInvitation, person, { secret: secrets[index] })),
      ),
    );
    expect(codes.toSorted()).toEqual([
      'plan_limit_members',
      'plan_limit_members',
      ...Array.from({ length: 6 }, () => 'taken'),
    ]);
  });
});
