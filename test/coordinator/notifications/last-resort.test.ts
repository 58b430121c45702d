import { beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { ownDatabase } from '../../support/services.ts';
import { answered, notificationBench } from '../../support/telling-bench.ts';

const { sql } = await ownDatabase({ name: 'rescue', connections: 8 });
const minute = 60_000;

let bench: Awaited<ReturnType<typeof notificationBench>>;
beforeEach(async () => {
  await sql`truncate organisations, alerts cascade`;
  bench = await notificationBench(sql);
});

describe('when nobody takes it', () => {
  const owner = async (email: string) => {
    const id = newId();
    await sql`insert into users (id, email, password_hash) values (${id}, ${email}, '')`;
    await sql`insert into memberships (organisation_id, user_id, role) values (${bench.organisation}, ${id}, 'owner')`;
  };
  const mails = () =>
    sql<{ kind: string; recipient: string; about: object }[]>`select kind, recipient, about from mails order by kind, recipient`;

  test('rule 38: a "down" that no channel took within two minutes is mailed to all owners, once and together', async () => {
    await sql`truncate users, mails cascade`;
    await owner('ada@example.org');
    await owner('bob@example.org');
    await bench.channel('chat');
    bench.answers.of = () => answered(503);
    await bench.down(await bench.monitor('Shop'));
    await bench.down(await bench.monitor('Mail'));
    await bench.tell();
    bench.now += 2 * minute - 1;
    await bench.rescue();
    expect(await mails()).toEqual([]);
    bench.now += 1;
    await bench.rescue();
    await bench.rescue();
    expect((await mails()).map(({ kind, recipient }) => `${kind} ${recipient}`)).toEqual([
      'last-resort ada@example.org',
      'last-resort bob@example.org',
    ]);
    expect((await mails())[0]?.about).toMatchObject({ count: 2 });
  });

  test('rule 38: not when one of several took it', async () => {
    await sql`truncate users, mails cascade`;
    await owner('ada@example.org');
    await bench.channel('chat');
    await bench.channel('good');
    bench.answers.of = (outgoing) => answered('url' in outgoing && outgoing.url.includes('good') ? 200 : 503);
    await bench.down(await bench.monitor('Shop'));
    await bench.tell();
    bench.now += 3 * minute;
    await bench.rescue();
    expect(await mails()).toEqual([]);
  });

  test('rule 38: owners are mailed once a day of a channel that refused for good', async () => {
    await sql`truncate users, mails cascade`;
    await owner('ada@example.org');
    await bench.channel('gone');
    bench.answers.of = () => answered(410);
    await bench.down(await bench.monitor('Shop'));
    await bench.tell();
    await bench.rescue();
    bench.now += 23 * 60 * minute;
    await bench.rescue();
    const of = (await mails()).filter(({ kind }) => kind === 'not-delivering');
    expect(of.map(({ about }) => about)).toMatchObject([{ name: 'gone', failure: expect.stringContaining('410') }]);
    bench.now += 60 * minute;
    await bench.rescue();
    expect((await mails()).filter(({ kind }) => kind === 'not-delivering')).toHaveLength(2);
  });
});

test('rule 39: what is wrong with a private probe for a minute is mailed to its owners, once an hour, and to nobody else', async () => {
  await sql`truncate users, mails, notices, probes cascade`;
  const [ada, own, public_] = [newId(), newId(), newId()];
  await sql`insert into users (id, email, password_hash) values (${ada}, 'ada@example.org', '')`;
  await sql`insert into memberships (organisation_id, user_id, role) values (${bench.organisation}, ${ada}, 'owner')`;
  await sql`insert into probes (id, organisation_id, name, continent) values (${own}, ${bench.organisation}, 'attic', 'Europe'), (${public_}, null, 'hall', 'Asia')`;
  const lost = async (probe: string) => {
    await sql`insert into notices (kind, subject, message, began_at) values ('probe_lost', ${probe}, 'The probe attic has not been heard', ${new Date(bench.now)})`;
  };
  const mails = () => sql`select kind, recipient, about from mails`;
  await lost(own);
  await lost(public_);
  bench.now += 59_999;
  await bench.rescue();
  expect(await mails()).toEqual([]);
  bench.now += 1;
  await bench.rescue();
  await bench.rescue();
  const mail = { kind: 'private-probe', recipient: 'ada@example.org', about: { message: 'The probe attic has not been heard' } };
  expect(await mails()).toEqual([mail]);
  const again = async () => {
    await sql`update notices set ended_at = ${new Date(bench.now)} where ended_at is null`;
    await lost(own);
    bench.now += 60_000;
    await bench.rescue();
  };
  await again();
  expect(await mails()).toEqual([mail]);
  bench.now += 3_600_000;
  await again();
  expect(await mails()).toEqual([mail, mail]);
});

test('rule 39: what is wrong with the watchers is a notice, and tells no channel', async () => {
  await bench.channel('chat');
  await sql`insert into notices (kind, subject, message) values ('probe_lost', 'x', 'A probe is lost')`;
  await bench.tell();
  expect([bench.sent, await sql`select 1 from alert_steps`]).toEqual([[], []]);
});
