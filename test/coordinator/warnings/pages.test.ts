import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

/** Warnings and certificates as people read them (rule 44). */
describe('pages', () => {
  let web: TestWeb;
  const day = 86_400_000;
  beforeAll(async () => {
    web = await startWeb();
    await web.sql`insert into probes (id, name, continent) values (${newId()}, 'probe', 'Europe')`;
  });
  afterAll(() => web.close());

  const monitor = async (name: string, config: object = {}): Promise<string> => {
    const id = newId();
    await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, config, created_at)
      values (${id}, ${web.house.organisation}, 0, ${name}, 'https', 'https://shop.example/', 60, ${JSON.stringify(config)}::text::jsonb, now())`;
    return id;
  };
  const warn = (of: string, details: object) =>
    web.sql`insert into warnings (id, organisation_id, monitor_id, code, details, began_at, confirmed_at)
      values (${newId()}, ${web.house.organisation}, ${of}, 'certificate_expires', ${JSON.stringify(details)}::text::jsonb, now(), now())`;
  const certify = (of: string, ends: number, fingerprint: string, issuer = 'Some CA') =>
    web.sql`insert into certificates (monitor_id, organisation_id, fingerprint, issuer, starts_at, ends_at, seen_at)
      values (${of}, ${web.house.organisation}, ${fingerprint}, ${issuer}, now(), ${new Date(Date.now() + ends)}, now())`;
  const read = async (path: string) => await web.text(path, 'viewer');

  test('a monitor says what it is warned of, and how long its certificate lasts', async () => {
    const id = await monitor('Shop', { max_response_ms: 2_000 });
    await warn(id, { ends_at: Date.now() + 5.5 * day, stage: 7 });
    await certify(id, 5.5 * day, 'AA');
    const page = await read(`/monitors/${id}`);
    expect(page).toContain('Certificate expires in 5 days');
    expect(page).toContain('A warning does not count as downtime');
    expect(page).toMatch(/Certificate<\/a><\/dt>\s*<dd>5 days/);
    expect(page).toContain('Slow responses are warnings of this monitor');
    const list = await read('/?warning=any');
    expect(list).toContain('Certificate expires in 5 days');
  });

  test('a list of warnings counts them, and beside them all monitors', async () => {
    await monitor('Without a warning');
    const list = await read('/?warning=any');
    expect(list).not.toContain('Without a warning');
    expect(list).toMatch(/Warnings\s*<b>1<\/b>/);
    expect(list).toMatch(/All\s*<b>2<\/b>/);
    expect(list.match(/aria-current="page"/g)).toHaveLength(2);
  });

  test('the page of a message says what it warned of, and leads to the monitor', async () => {
    const [of, channel, message] = [await monitor('Told <b>'), newId(), newId()];
    await web.sql`insert into channels (id, organisation_id, kind, name, config, secrets, covers, delay_s, enabled, verified_at)
      values (${channel}, ${web.house.organisation}, 'webhook', 'Chat', '{"url":"https://chat.test/"}', ${Buffer.alloc(1)}, 'all', 0, true, now())`;
    const at = Date.now() - day;
    const content = {
      sentence: 'Told: certificate expires in 5 days.',
      monitors: [
        {
          id: of,
          incident: newId(),
          name: 'Told <b>',
          event: 'warning',
          cause: 'certificate expires in 5 days',
          started_at: at,
          confirmed_at: at + 60_000,
          resolved_at: null,
        },
      ],
    };
    await web.sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, attempts, next_at, settled_at)
      values (${message}, ${web.house.organisation}, ${channel}, 'warning', ${message}, ${JSON.stringify(content)}::text::jsonb, 'delivered', now(), now(), 1, now(), now())`;
    const page = await read(`/alerts/${channel}/messages/${message}`);
    expect(page).toContain('Warning first seen: certificate expires in 5 days');
    expect(page).toContain('Warning confirmed');
    expect(page).not.toContain('Warning over');
    expect(page).not.toContain('Told <b>');
    expect(page).not.toContain('/incidents/');
    expect(page.match(new RegExp(`/monitors/${of}`, 'g'))).toHaveLength(2);
  });

  test('all certificates stand by their end, one of several monitors once', async () => {
    const [one, two, three] = [await monitor('One'), await monitor('Two'), await monitor('Three')];
    await certify(one, 61.5 * day, 'BB', '<img src=x>');
    await certify(two, 61.5 * day, 'BB', '<img src=x>');
    await certify(three, -2.5 * day, 'CC');
    const page = await read('/certificates');
    expect(page).not.toContain('<img src=x>');
    expect(page.match(/61 days/g)).toHaveLength(1);
    expect(page.indexOf('expired')).toBeLessThan(page.indexOf('61 days'));
    expect(page.indexOf('expired')).toBeGreaterThan(0);
  });
});
