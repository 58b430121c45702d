import { beforeAll, describe, expect, test } from 'vitest';
import { askMailbox, confirmChannel, showConfirmation, testChannel, tryChannel } from '../../../coordinator/notifications/contract.ts';
import { linkChannel } from '../../../coordinator/notifications/queries.ts';
import { createAccountSecrets } from '../../../coordinator/people/secrets.ts';
import { createChannel, getChannel, updateChannel } from '../../../shared/api/channels.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation, testSecretKey } from '../../support/people.ts';

/** Rule 30: a mailbox is told of nothing before somebody said from it that it is theirs, and is not asked without end. */

const bench = gateBench({ signUp: 'open', signUpPlan: 'team', mail: true });
let house: TestOrganisation;
beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
});
const email = (address: string) => ({ kind: 'email', config: { address } });
const address = (): string => `${newId()}@elsewhere.example`;
const questions = async (to: string): Promise<number> =>
  (await bench.sql`select 1 from mails where kind = 'channel' and recipient = ${to}`).length;
const later = (ms: number): void => {
  bench.now += ms;
};
const [hour, day] = [3_600_000, 86_400_000];

describe('a mailbox', () => {
  test('is asked again, three times a day at most, and only while it has not said yes', async () => {
    const to = address();
    const { id } = await bench.call(createChannel, house.owner, email(to));
    expect(await questions(to)).toBe(1);
    const again = () => bench.refusal(askMailbox, house.owner, { channel_id: id });
    expect([await again(), await again(), await again()]).toEqual(['taken', 'taken', 'channel_test_limit']);
    await expect(bench.call(askMailbox, house.owner, { channel_id: id })).rejects.toMatchObject({ waitS: 86_400 });
    expect(await questions(to)).toBe(3);
    later(day + 1);
    expect(await again()).toBe('taken');
    await bench.sql`update channels set verified_at = now() where id = ${id}`;
    expect(await again()).toBe('channel_invalid');
    expect(await questions(to)).toBe(4);
  });

  test('and its channel are those of who looks after it', async () => {
    const { id } = await bench.call(createChannel, house.owner, email(address()));
    expect(await bench.refusal(askMailbox, house.member, { channel_id: id })).toBe('role_insufficient');
    expect(await bench.refusal(askMailbox, (await createTestOrganisation(bench.sql)).owner, { channel_id: id })).toBe('channel_not_found');
  });

  test('that has not said yes is sent no test either; the own one is', async () => {
    const { owner } = await createTestOrganisation(bench.sql);
    const to = address();
    const { id } = await bench.call(createChannel, owner, email(to));
    expect(await bench.refusal(testChannel, owner, { channel_id: id })).toBe('channel_invalid');
    expect(await bench.refusal(tryChannel, owner, email(to))).toBe('channel_invalid');
    // Mail is set up for accounts alone here, so that nothing leaves; but it is tried.
    await bench.sql`update users set email_verified_at = now() where id = ${owner.user}`;
    expect(await bench.call(tryChannel, owner, email(owner.email))).toMatchObject({ class: 'mail_not_set_up' });
    await bench.sql`update channels set verified_at = now() where id = ${id}`;
    expect(await bench.call(testChannel, owner, { channel_id: id })).toMatchObject({ class: 'mail_not_set_up' });
    expect(await bench.call(tryChannel, owner, { ...email(to), channel: id })).toMatchObject({ class: 'mail_not_set_up' });
    expect(await bench.refusal(tryChannel, owner, { ...email(address()), channel: id })).toBe('channel_invalid');
  });

  test('is one of ten that an organisation asks and tests in an hour', async () => {
    const { owner } = await createTestOrganisation(bench.sql);
    const codes: string[] = [];
    for (let times = 0; times < 11; times += 1) codes.push(await bench.refusal(createChannel, owner, email(address())));
    expect(codes).toEqual([...Array.from({ length: 10 }, () => 'taken'), 'channel_test_limit']);
    const [channel] = await bench.sql<
      { id: string }[]
    >`select id from channels where organisation_id = ${owner.caller.organisation.id} limit 1`;
    const moved = { channel_id: channel?.id, config: { address: address() } };
    expect(await bench.refusal(updateChannel, owner, moved)).toBe('channel_test_limit');
    await expect(bench.call(updateChannel, owner, moved)).rejects.toMatchObject({ waitS: 3600 });
    later(hour + 1);
    expect(await bench.refusal(updateChannel, owner, moved)).toBe('taken');
    expect((await bench.call(getChannel, owner, { channel_id: channel?.id })).verified).toBe(false);
  });
});

test('what a mailbox was asked is shown until it is too old or a newer mail took its place; then, and once it said yes, that is said', async () => {
  const secrets = createAccountSecrets(bench.sql, { secretKey: testSecretKey });
  const to = address();
  const { id } = await bench.call(createChannel, house.owner, email(to));
  const mailed = async (): Promise<string> => {
    const { text, fingerprint } = await secrets.mint('channel');
    await linkChannel(bench.sql, id, fingerprint);
    return text;
  };
  const asVisitor = async (operation: typeof showConfirmation | typeof confirmChannel, secret: string): Promise<unknown> => {
    try {
      const visitor = { address: '127.0.0.1', device: '', cookie: undefined };
      return (await bench.gate.executeForVisitor(operation, visitor, rawInput(operation, { secret }))).body;
    } catch (error) {
      return error instanceof Refusal ? error.code : error;
    }
  };
  const first = await mailed();
  expect(await asVisitor(showConfirmation, first)).toMatchObject({ address: to, said: false });
  later(day + 1);
  expect(await asVisitor(showConfirmation, first)).toBe('link_invalid');
  expect(await asVisitor(confirmChannel, first)).toBe('link_invalid');
  await bench.call(askMailbox, house.owner, { channel_id: id });
  const second = await mailed();
  expect(await asVisitor(showConfirmation, first)).toBe('link_invalid');
  expect((await bench.call(getChannel, house.owner, { channel_id: id })).verified).toBe(false);
  expect(await asVisitor(confirmChannel, second)).toEqual({ name: to });
  expect(await asVisitor(showConfirmation, second)).toMatchObject({ address: to, said: true });
  // Its yes counts once: what was ended after it stays ended.
  expect(await asVisitor(confirmChannel, second)).toBe('link_invalid');
});
