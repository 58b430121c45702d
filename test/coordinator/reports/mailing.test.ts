import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { updateOrganisation } from '../../../coordinator/organisations/contract.ts';
import { leaveReportMail, showReportMail } from '../../../coordinator/reports/contract.ts';
import { createReportMailing } from '../../../coordinator/reports/mailing.ts';
import { mailDue, mailedBy } from '../../../coordinator/reports/period.ts';
import { createGroup, deleteGroup } from '../../../shared/api/groups.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { endReportMail, listReportMails, mailReport } from '../../../shared/api/reports.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { storeChecks } from '../../support/checks.ts';
import { signUpByMail } from '../../support/gate.ts';
import { createTestOrganisation, reading, type TestOrganisation } from '../../support/people.ts';
import fc from '../../support/random.ts';

const own = signUpByMail();
const { bench, door } = own;
/** A Friday. */
const friday = Date.parse('2026-11-20T12:00:00Z');
/** Eight in Berlin, in winter. */
const monday = Date.parse('2026-11-23T07:00:00Z');
let house: TestOrganisation;
let monitor: string;
let backup: string;

const mailing = () =>
  createReportMailing({
    sql: bench.sql,
    results: bench.results,
    clock: { now: () => bench.now },
    log: createLog({ name: 't', level: 'silent' }),
    isLeader: () => true,
    hasMail: true,
  });
/** All until then is known. */
const checkedAt = async (at: number): Promise<void> => {
  for (const id of [monitor, backup])
    await storeChecks(bench.sql, id, [{ probe: europe, at: at - 60_000 }]);
  bench.now = at;
};
const sentTo = async (email: string) => {
  await own.mailer.tick();
  return own.mailbox.received.filter(({ to }) => to.includes(email));
};

let europe: string;
beforeAll(async () => {
  bench.now = friday;
  europe = await bench.addProbe('Europe');
});

beforeEach(async () => {
  bench.now = friday;
  house = await createTestOrganisation(bench.sql, { name: 'Shop', time_zone: 'Europe/Berlin' });
  await bench.sql`update users set email_verified_at = now()`;
  ({ id: monitor } = await bench.call(createMonitor, house.owner, {
    ...{ type: 'https', target: 'https://example.com', name: 'Shop' },
  }));
  ({ id: backup } = await bench.call(createMonitor, house.owner, {
    ...{ type: 'https', target: 'https://example.com/backup', name: 'Backup' },
  }));
  await bench.sql`update monitors set created_at = '2026-09-01T00:00:00Z'`;
  await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at,
    resolved_at, cause) values (${newId()}, ${house.organisation}, ${monitor},
    '2026-11-18T10:00:00Z', '2026-11-18T10:00:10Z', '2026-11-18T11:30:00Z',
    ${JSON.stringify({ class: 'timeout', params: {} })})`;
});

describe('a mail of a report', () => {
  test('comes on Monday at eight by the clock of the organisation, of the week before, once', async () => {
    const made = await bench.call(mailReport, house.viewer, { every: 'week', promised: 99.9 });
    expect(made).toMatchObject({ title: 'All monitors', next_at: new Date(monday).toISOString() });
    bench.now = monday - 1;
    await mailing().tick();
    expect(await sentTo(house.viewer.email)).toHaveLength(0);
    await checkedAt(monday);
    await Promise.all([mailing().tick(), mailing().tick(), mailing().tick()]);
    const [mail, ...more] = await sentTo(house.viewer.email);
    expect([more, await sentTo(house.owner.email)]).toEqual([[], []]);
    expect(mail?.subject).toBe('All monitors, week 47 of 2026: 99.55% up');
    const text = mail?.text.replaceAll('\r', '') ?? '';
    expect(text).toContain('Promised 99.9%: missed, 1 h 9 min too long');
    expect(text).toContain('Down: 1 h 30 min');
    expect(text).toContain('Most downtime:\n- Shop: 99.10% (1 h 30 min down, 1 incident)');
    expect(text).toMatch(/- Shop: 1 h 30 min \(.+, 18 Nov, 11:00\)/);
    expect(text).toContain('https://antipode.test/reports?');
    expect(text).toContain('period=2026-W47');
    expect(mail?.raw).toMatch(/^list-unsubscribe-post: List-Unsubscribe=One-Click/im);
    const { items } = await bench.call(listReportMails, house.viewer);
    expect(items).toEqual([{ ...made, next_at: '2026-11-30T07:00:00.000Z' }]);
  });

  test('of a month comes on its first day, and after an absence only the newest', async () => {
    await bench.call(mailReport, house.owner, { every: 'month', monitor });
    await checkedAt(Date.parse('2027-02-01T07:00:00Z'));
    await mailing().tick();
    await mailing().tick();
    expect((await sentTo(house.owner.email)).map(({ subject }) => subject)).toEqual([
      'Shop, January 2027: 100% up',
    ]);
  });

  test('that could not be posted is posted later, and not lost', async () => {
    await bench.call(mailReport, house.owner, { every: 'week' });
    bench.now = monday;
    await bench.sql`alter table deliveries add constraint broken check (event <> 'report') not valid`;
    await mailing().tick();
    await bench.sql`alter table deliveries drop constraint broken`;
    expect(await sentTo(house.owner.email)).toHaveLength(0);
    await mailing().tick();
    await mailing().tick();
    expect(await sentTo(house.owner.email)).toHaveLength(1);
  });

  test('comes although more than are mailed at once cannot be posted, which are tried each minute', async () => {
    const broken = { every: 'week', promised: 99 };
    await bench.call(mailReport, house.admin, broken);
    await bench.sql`
      insert into report_mails (id, organisation_id, user_id, every, report, title, created_at, next_at)
      select gen_random_uuid(), organisation_id, user_id, every,
        report || jsonb_build_object('promised', 99 + n / 1000.0), title, created_at, next_at
      from report_mails, generate_series(1, 120) n where user_id = ${house.admin.user}`;
    bench.now += 1;
    await bench.call(mailReport, house.owner, { every: 'week' });
    await bench.sql`update report_mails set next_at = next_at - interval '1 minute'
      where user_id = ${house.admin.user}`;
    bench.now = monday;
    const refuse = bench.sql`alter table deliveries add constraint broken
      check (event <> 'report' or recipient <> ${bench.sql.unsafe(`'${house.admin.email}'`)}) not valid`;
    await refuse;
    const { tick } = mailing();
    await tick();
    expect(await sentTo(house.owner.email)).toHaveLength(0);
    await tick();
    expect(await sentTo(house.owner.email)).toHaveLength(1);
    await bench.sql`alter table deliveries drop constraint broken`;
    await tick();
    expect(await sentTo(house.admin.email)).toHaveLength(0);
    bench.now += 60_000;
    await tick();
    await tick();
    expect(await sentTo(house.admin.email)).toHaveLength(121);
  });

  test('does not reach a member who left, nor an organisation that is about to end', async () => {
    for (const who of [house.member, house.admin])
      await bench.call(mailReport, who, { every: 'week' });
    bench.now = monday;
    await mailing().tick();
    await bench.sql`delete from memberships where user_id = ${house.member.user}`;
    expect(await sentTo(house.member.email)).toHaveLength(0);
    expect(await sentTo(house.admin.email)).toHaveLength(1);
    bench.now += 7 * 86_400_000;
    await bench.sql`update organisations set ends_at = ${new Date(bench.now + 86_400_000)}
      where id = ${house.organisation}`;
    await mailing().tick();
    expect(await sentTo(house.admin.email)).toHaveLength(1);
    await bench.sql`update organisations set ends_at = null where id = ${house.organisation}`;
    await mailing().tick();
    expect(await sentTo(house.admin.email)).toHaveLength(2);
  });

  test('is left out while what it is of is gone', async () => {
    const { id: group_id } = await bench.call(createGroup, house.owner, { name: 'Web' });
    await bench.call(mailReport, house.owner, { every: 'week', group: group_id });
    await bench.call(deleteGroup, house.owner, { group_id });
    bench.now = monday;
    await mailing().tick();
    expect(await sentTo(house.owner.email)).toHaveLength(0);
    const { items } = await bench.call(listReportMails, house.owner);
    expect(items.map(({ next_at }) => next_at)).toEqual(['2026-11-30T07:00:00.000Z']);
  });

  test('ends by the link in it, without an account, and one that waits does not come', async () => {
    await bench.call(mailReport, house.owner, { every: 'week' });
    bench.now = monday;
    await mailing().tick();
    const [mail] = await sentTo(house.owner.email);
    const [, secret = ''] = /reports\/leave\/([\w.-]+)/.exec(mail?.text ?? '') ?? [];
    expect(mail?.raw.replaceAll(/\r\n\s+/g, ' ')).toContain(`/reports/leave/${secret}>`);
    bench.now += 7 * 86_400_000;
    await mailing().tick();
    expect(await door.visit(showReportMail, { secret })).toEqual({ title: 'All monitors' });
    expect(await door.visit(leaveReportMail, { secret })).toEqual({ title: 'All monitors' });
    expect(await door.visit(leaveReportMail, { secret })).toEqual({ title: null });
    expect(await sentTo(house.owner.email)).toHaveLength(1);
    expect((await bench.call(listReportMails, house.owner)).items).toEqual([]);
    const forged = secret.replace(/^./, (first) => (first === '0' ? '1' : '0'));
    await expect(door.visit(leaveReportMail, { secret: forged })).rejects.toThrow(/link/);
  });
});

describe('who is mailed', () => {
  test('asks for it by themselves: any role, with an address that is proven, and a program that may write', async () => {
    expect(await bench.refusal(mailReport, house.viewer, { every: 'week' })).toBe('taken');
    expect(await bench.refusal(mailReport, reading(house.owner), { every: 'week' })).toBe(
      'scope_insufficient',
    );
    await bench.sql`update users set email_verified_at = null where id = ${house.admin.user}`;
    expect(await bench.refusal(mailReport, house.admin, { every: 'week' })).toBe(
      'report_mail_invalid',
    );
    const { items } = await bench.call(listReportMails, house.viewer);
    const mail_id = items[0]?.id;
    expect(await bench.refusal(endReportMail, house.owner, { mail_id })).toBe(
      'report_mail_not_found',
    );
    await bench.call(endReportMail, house.viewer, { mail_id });
    expect((await bench.call(listReportMails, house.viewer)).items).toEqual([]);
  });

  test('gets the same report weekly or monthly, not twice, and at most 20', async () => {
    const week = await bench.call(mailReport, house.owner, { every: 'week', tag: 'shop' });
    const month = await bench.call(mailReport, house.owner, { every: 'month', tag: 'shop' });
    expect([month.id, month.next_at]).toEqual([week.id, '2026-12-01T07:00:00.000Z']);
    for (let nth = 1; nth < 20; nth++)
      await bench.call(mailReport, house.owner, { every: 'week', tag: `t${nth}` });
    expect(await bench.refusal(mailReport, house.owner, { every: 'week' })).toBe(
      'report_mail_limit',
    );
    expect(await bench.refusal(mailReport, house.owner, { every: 'week', tag: 't1' })).toBe(
      'taken',
    );
  });

  test('is mailed each week once where the organisation moves to another clock', async () => {
    await bench.call(mailReport, house.owner, { every: 'week' });
    await bench.call(updateOrganisation, house.owner, { time_zone: 'America/Los_Angeles' });
    const hours = Array.from({ length: 24 * 10 }, (_, nth) => friday + nth * 3_600_000);
    for (const at of hours) {
      bench.now = at;
      await mailing().tick();
    }
    expect((await sentTo(house.owner.email)).map(({ subject }) => subject.slice(0, 28))).toEqual([
      'All monitors, week 47 of 202',
    ]);
  });
});

describe('when a mail is due', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  const moments = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2041, 0, 1) });
  const shown = (zone: string, at: number): string =>
    new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone: zone, weekday: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' },
      hourCycle: 'h23',
    }).format(at);

  test('each zone shows Monday, or the first, at eight; no other lies between', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), moments, (zone, after) => {
        const [week, month] = [mailDue('week', zone, after), mailDue('month', zone, after)];
        expect(shown(zone, week)).toMatch(/^Mon.* 08:00$/);
        expect(shown(zone, month)).toMatch(/^\w+,? 1\D.*08:00$/);
        expect(week).toBeGreaterThan(after);
        expect(month).toBeGreaterThan(after);
        expect(week - after).toBeLessThanOrEqual(7 * 86_400_000 + 3 * 3_600_000);
        expect(month - after).toBeLessThanOrEqual(31 * 86_400_000 + 3 * 3_600_000);
        expect(mailDue('week', zone, week - 1)).toBe(week);
      }),
    );
  });

  test('a move between any two zones neither drops a period nor mails it twice', () => {
    const pair = fc.constantFrom(...zones);
    fc.assert(
      fc.property(pair, pair, moments, (before, zone, asked) => {
        const due = mailDue('week', before, asked);
        const names: (string | null)[] = [];
        let next = due;
        // Each hour, for three weeks, by the clock of the new zone.
        for (let now = due; now < due + 21 * 86_400_000; now += 3_600_000)
          if (next <= now) {
            const mailed = mailedBy('week', zone, { due: next, now });
            if (mailed.period !== null) names.push(mailed.period);
            next = mailed.next;
          }
        expect(new Set(names).size).toBe(names.length);
        expect([3, 4]).toContain(names.length);
      }),
      { numRuns: 300 },
    );
  });
});
