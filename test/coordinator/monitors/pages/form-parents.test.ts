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
