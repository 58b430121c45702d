import { expect, test } from 'vitest';
import { mailDue } from '../../coordinator/reports/period.ts';
import { newId } from '../../shared/base/crypto.ts';
import { eventually, passed } from '../support/eventually.ts';
import { createNetwork } from '../support/network.ts';
import { openMailbox } from '../support/receivers.ts';

test('kill -9 while a report is posted mails it once, by another coordinator', async ({
  onTestFinished,
}) => {
  const mailbox = await openMailbox();
  onTestFinished(mailbox.close);
  const network = await createNetwork({
    settings: { SMTP_URL: mailbox.url, MAIL_FROM: 'a@antipode.test' },
  });
  onTestFinished(network.close);
  const { sql, organisation, house } = network;
  const killed = await network.startCoordinatorProcess();
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = sql.begin(async (transaction) => {
    await transaction`set local idle_in_transaction_session_timeout = 0`;
    await transaction`lock table deliveries in share mode`;
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  await network.addMonitor({ target: 'https://example.com/' });
  const [{ time_zone: zone } = { time_zone: '' }] = await sql<{ time_zone: string }[]>`
    select time_zone from organisations where id = ${organisation}`;
  const week = 7 * 86_400_000;
  await sql`update monitors set created_at = now() - interval '30 days'`;
  const dueAt = mailDue('week', zone, Date.now()) - week;
  await sql`
    insert into report_mails (id, organisation_id, user_id, every, report, title, created_at, next_at)
    values (${newId()}, ${organisation}, ${house.owner.user}, 'week', '{}', 'All monitors', now(),
      ${new Date(dueAt)})`;
  const isPosting = async () =>
    (
      await sql`
        select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
          and query like '%insert into deliveries%'`
    ).length > 0;
  await eventually(isPosting, 60_000);
  killed.signal('SIGKILL');
  await killed.exited;
  released.resolve();
  await holding;
  const due = () => sql`select 1 from report_mails where next_at <= now()`;
  const posted = () => sql`select 1 from deliveries where event = 'report'`;
  // Nothing of the killed one remains: neither is the report taken nor is a mail posted.
  await eventually(async () => (await due()).length === 1);
  expect(await posted()).toHaveLength(0);
  await network.startCoordinatorProcess();
  await network.startCoordinatorProcess();
  await mailbox.newestTo(house.owner.email);
  // Both look each second.
  await passed(3_000);
  expect([(await due()).length, mailbox.received.length]).toEqual([0, 1]);
});
