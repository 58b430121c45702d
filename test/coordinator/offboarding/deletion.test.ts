import { beforeEach, describe, expect, test } from 'vitest';
import { operatorIn, type Person as SignedInPerson } from '../../../coordinator/gate/caller.ts';
import { changeMonitors } from '../../../coordinator/monitors/contract.ts';
import { endOrganisation } from '../../../coordinator/offboarding/contract.ts';
import { listOrganisations } from '../../../coordinator/operator/contract.ts';
import { acceptInvitation } from '../../../coordinator/people/contract.ts';
import { publishedPage } from '../../../coordinator/status-pages/public/queries.ts';
import { createTokens } from '../../../coordinator/tokens/authenticate.ts';
import { keepOrganisation } from '../../../coordinator/web/contract.ts';
import { inviteMember } from '../../../shared/api/members.ts';
import { createMonitor, listMonitors } from '../../../shared/api/monitors.ts';
import { muteAlerts, showMute } from '../../../shared/api/notifications.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { showOrganisation } from '../../../shared/api/organisations.ts';
import { createStatusPage } from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { createLog } from '../../../shared/base/log.ts';
import { gateBench } from '../../support/gate.ts';
import {
  createTestOrganisation,
  inPerson,
  type Person,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';

/**
 * An organisation that its owner ends: what happens at once, and that undoing it puts back exactly
 * what was.
 */

const bench = gateBench();
const day = 86_400_000;
const log = createLog({ name: 'ending', level: 'silent' });

let house: TestOrganisation;
let monitors: readonly string[];
beforeEach(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Corner shop' });
  const made: string[] = [];
  for (const name of ['A', 'B', 'C'])
    made.push((await bench.call(createMonitor, house.owner, { type: 'heartbeat', name })).id);
  monitors = made;
});

const end = (by: Person = house.owner) => bench.call(endOrganisation, by, { name: 'Corner shop' });
const mails = async (): Promise<readonly { recipient: string; what: string }[]> =>
  bench.sql`select recipient, told->>'what' as what from deliveries where kind = 'mail' and event = 'organisation' and recipient = ${house.owner.email} order by created_at, what`;
const told = async (change: string): Promise<string[]> => {
  const rows = await bench.sql<
    { monitor: string }[]
  >`select payload->>'monitor' as monitor from outbox
    where organisation_id = ${house.organisation} and payload->>'change' = ${change} order by id`;
  return rows.map(({ monitor }) => monitor);
};
/** All that undoing is to put back. */
const standing = async () => ({
  monitors:
    await bench.sql`select id, enabled, paused_at is null as is_checked, config_version, interval_s, name from monitors
    where organisation_id = ${house.organisation} order by key`,
  mute: await bench.call(showMute, house.owner),
  organisation: await bench.call(showOrganisation, house.owner),
  tokens:
    await bench.sql`select id from tokens where organisation_id = ${house.organisation} order by id`,
});

describe('ending', () => {
  test('requires the exact name, whatever blanks are between, and a recent sign-in', async () => {
    expect(await bench.refusal(endOrganisation, house.owner, { name: 'Corner' })).toBe(
      'name_invalid',
    );
    expect(await bench.refusal(endOrganisation, house.owner, { name: ' Corner  shop ' })).toBe(
      'taken',
    );
    expect(endOrganisation.dangerous).toBe(true);
  });

  test('pauses, mutes and mails at once, and says when', async () => {
    await bench.call(changeMonitors, house.owner, { monitors: [monitors[1]], change: 'pause' });
    const { ends_at, paused } = await end();
    expect([Date.parse(ends_at) - bench.now, paused]).toEqual([7 * day, 2]);
    expect((await standing()).monitors.map(({ enabled }) => enabled)).toEqual([
      false,
      false,
      false,
    ]);
    expect((await bench.call(showMute, house.owner)).until).toBe(ends_at);
    const { organisation } = await createTokens({
      ...bench,
      clock: { now: () => bench.now },
      log,
      secretKey: testSecretKey,
    }).authenticate(`Bearer ${house.viewer.read}`);
    expect(organisation.ends_at).toBe(Date.parse(ends_at));
    expect(await mails()).toEqual([{ recipient: house.owner.email, what: 'ends' }]);
    expect(await told('paused')).toEqual([monitors[1], monitors[0], monitors[2]]);
    expect((await bench.call(listMonitors, house.viewer)).items).toHaveLength(3);
    expect(await bench.refusal(endOrganisation, house.owner, { name: 'Corner shop' })).toBe(
      'organisation_ending',
    );
  });

  test('hides the status pages, and they are back when it is undone', async () => {
    const slug = newId();
    await bench.call(createStatusPage, house.owner, { name: 'P', slug });
    expect(await publishedPage(bench.sql, { slug })).toMatchObject({ slug });
    await end();
    expect(await publishedPage(bench.sql, { slug })).toBeUndefined();
    await bench.call(keepOrganisation, house.owner);
    expect(await publishedPage(bench.sql, { slug })).toMatchObject({ slug });
  });

  test('accepts no new member; the invitation is valid again when it is undone', async () => {
    const { address } = await bench.call(inviteMember, inPerson(house.owner), {
      email: `${newId()}@example.org`,
      role: 'viewer',
    });
    const secret = address?.split('/').at(-1) ?? '';
    const other = (await createTestOrganisation(bench.sql)).viewer;
    const person: SignedInPerson = {
      user: other.user,
      email: other.email,
      name: '',
      email_verified: true,
      is_operator: false,
      session: newId(),
      proven_at: bench.now,
      from: { address: '192.0.2.1', device: 'a test' },
    };
    const join = (): Promise<string> =>
      bench.gate
        .executeForPerson(acceptInvitation, person, rawInput(acceptInvitation, { secret }))
        .then(
          () => 'taken',
          (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
        );
    await end();
    expect(await join()).toBe('organisation_ending');
    await bench.call(keepOrganisation, house.owner);
    expect(await join()).toBe('taken');
  });
});

describe('keeping', () => {
  test('is possible only for an organisation that is ending, within its days', async () => {
    expect(await bench.refusal(keepOrganisation, house.owner)).toBe('organisation_not_ending');
    await end();
    bench.now += 7 * day;
    expect(await bench.refusal(keepOrganisation, house.owner)).toBe('organisation_ending');
    bench.now -= 1;
    expect(await bench.refusal(keepOrganisation, house.owner)).toBe('taken');
  });

  test('puts back exactly what was: what was paused before stays so, and so does the mute', async () => {
    await bench.call(changeMonitors, house.owner, { monitors: [monitors[1]], change: 'pause' });
    await bench.call(muteAlerts, house.admin, { minutes: 10_000 });
    const before = await standing();
    await end();
    bench.now += 3 * day;
    expect(await bench.call(keepOrganisation, house.owner)).toMatchObject({ resumed: 2 });
    expect(await standing()).toEqual(before);
    expect(await told('resumed')).toEqual([monitors[0], monitors[2]]);
    expect(await mails()).toEqual([
      { recipient: house.owner.email, what: 'ends' },
      { recipient: house.owner.email, what: 'kept' },
    ]);
    expect(
      await bench.sql`select 1 from endings where organisation_id = ${house.organisation}`,
    ).toHaveLength(0);
  });

  test('brings back no mute that would be over, and ends the one that came with the end', async () => {
    await bench.call(muteAlerts, house.admin, { minutes: 60 });
    await end();
    bench.now += day;
    await bench.call(keepOrganisation, house.owner);
    expect(await bench.call(showMute, house.owner)).toEqual({ until: null, by: null });
  });
});

test('the operator sees when, begins it and undoes it', async () => {
  const operator = operatorIn(house.owner.caller.organisation);
  const { ends_at } = await bench.call(endOrganisation, operator, { name: 'Corner shop' });
  const { body } = await bench.gate.executeForInstallation(
    listOrganisations,
    rawInput(listOrganisations, { limit: 200 }),
  );
  expect(body).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining({ id: house.organisation, ends_at })]),
  });
  expect(await bench.call(keepOrganisation, operator)).toEqual({
    id: house.organisation,
    resumed: 3,
  });
});
