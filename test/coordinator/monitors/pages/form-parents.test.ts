import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../../shared/base/crypto.ts';
import {
  fieldsIn,
  type MonitorForms,
  monitorForms,
  startWeb,
  type TestWeb,
  wanted,
} from '../../../support/web.ts';

describe('what a monitor depends on, on pages', () => {
  let web: TestWeb;
  let forms: MonitorForms;

  beforeAll(async () => {
    web = await startWeb();
    forms = monitorForms(web);
    await web.sql`insert into probes (id, name, continent) values (${newId()}, 'probe', 'Europe')`;
  });
  afterAll(() => web.close());

  test('rule 47: offers what it may depend on, keeps it through an edit, shows it on its page, and refuses a circle in words', async () => {
    const gateway = await forms.made({ name: 'Gateway of the form' });
    const shop = await forms.made({
      name: 'Behind it',
      'depends_on_monitors[]': ['', gateway, newId()],
    });
    expect(await web.text(`/monitors/${shop}`, 'viewer')).toContain(
      `Depends on <a href="/monitors/${gateway}">Gateway of the form</a>.`,
    );
    expect(await web.text(`/monitors/${gateway}`, 'viewer')).toMatch(
      new RegExp(`Depends on it:\\s+<a href="/monitors/${shop}">Behind it</a>\\.`),
    );
    const fields = fieldsIn(await web.text(`/monitors/${shop}/edit`, 'member'));
    expect(fields['depends_on_monitors[]']).toEqual(['', gateway]);
    await forms.post(`/monitors/${shop}/edit`, { ...fields, act: 'save' }, web.house.member);
    await forms.post(`/monitors/${shop}/edit`, { ...wanted, act: 'save' }, web.house.member);
    expect(await web.text(`/monitors/${shop}`, 'viewer')).toContain('Depends on <a');
    const own = await web.text(`/monitors/${gateway}/edit`, 'member');
    expect(own).not.toContain(`value="${gateway}"`);
    const refused = await forms.post(
      `/monitors/${gateway}/edit`,
      { ...fieldsIn(own), 'depends_on_monitors[]': ['', shop], act: 'save' },
      web.house.member,
    );
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('A monitor cannot depend on itself'),
    ]);
    await forms.post(
      `/monitors/${shop}/edit`,
      { ...fields, 'depends_on_monitors[]': '', act: 'save' },
      web.house.member,
    );
    expect(await web.text(`/monitors/${shop}`, 'viewer')).not.toContain('Depends on <a');
  });

  test('rule 47: finds parents among more than can be listed, and keeps what is ticked', async () => {
    const { organisation } = web.house;
    await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      select gen_random_uuid(), ${organisation}, 0, 'Router ' || n, 'tcp', 'router-' || n || ':1', 60
      from generate_series(1, 101) as n`;
    const [router = { id: '' }] = await web.sql<{ id: string }[]>`
      select id from monitors where organisation_id = ${organisation} and name = 'Router 77'`;
    const at = '/monitors/new';
    const first = await web.text(at, 'member');
    expect(first).toContain('Search monitors');
    expect(first).not.toContain('Router 77');
    const send = (more: object) =>
      forms.post(at, { ...wanted, name: 'Far shop', ...more }, web.house.member);
    expect(first).toMatch(/<form[^>]+id="monitor-form"[^>]*>\s*<button[^>]+value="enter"/);
    const found = await send({ find_parent: 'router 77', act: 'enter' });
    expect([found.status, found.text.includes(`value="${router.id}"`)]).toEqual([200, true]);
    expect(await forms.rowsNamed('Far shop')).toEqual([]);
    const ticked = { 'depends_on_monitors[]': ['', router.id] };
    const other = await send({ ...ticked, find_parent: 'router 1', act: 'look' });
    expect(fieldsIn(other.text)['depends_on_monitors[]']).toEqual(['', router.id]);
    expect(other.text).toContain('Router 10');
    const typed = { ...ticked, find_parent: 'not searched for', act: 'save' };
    expect((await send(typed)).status).toBe(303);
    const [{ id = '' } = {}] = await forms.rowsNamed('Far shop');
    const fields = fieldsIn(await web.text(`/monitors/${id}/edit`, 'member'));
    expect(fields['depends_on_monitors[]']).toEqual(['', router.id]);
    const copy = fieldsIn(await web.text(`${at}?from=${id}`, 'member'));
    expect(copy['depends_on_monitors[]']).toEqual(['', router.id]);
    expect(await web.text(`/monitors/${id}`, 'viewer')).toContain('Router 77</a>');
    await web.sql`delete from monitors where organisation_id = ${organisation} and name like 'Router %'`;
  });

  test('rule 47: says because of what its alert is held, while it is', async () => {
    const id = newId();
    await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
      values (${id}, ${web.house.organisation}, ${await forms.made()}, now(), now())`;
    const channel = newId();
    await web.sql`insert into channels (id, organisation_id, kind, name, config, verified_at)
      select ${channel}, organisation_id, 'webhook', 'Pager', '{"url": "https://p.example/"}', now()
      from incidents where id = ${id}`;
    await web.sql`
      insert into alert_steps (organisation_id, channel_id, monitor_id, incident_id, event, state,
        due_at, look_at, holds)
      select organisation_id, ${channel}, monitor_id, id, 'down', 'held', now(), now(),
        '[["mute", 1, 2], ["dependency", 3, 4, "Main <gateway>"]]'
      from incidents where id = ${id}`;
    const shown = await web.text(`/incidents/${id}`, 'viewer');
    expect(shown).toContain('<p id="held">Held because Main &lt;gateway&gt; is down.</p>');
    expect(shown).toContain(
      'On hold: Main &lt;gateway&gt; was down, which this monitor depends on.',
    );
    await web.sql`update alert_steps set state = 'told' where incident_id = ${id}`;
    expect(await web.text(`/incidents/${id}`, 'viewer')).not.toContain('id="held"');
    await web.sql`delete from channels where id = ${channel}`;
  });
});
