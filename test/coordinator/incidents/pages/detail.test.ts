import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { notificationInWords } from '../../../../coordinator/notifications/pages/recipients.ts';
import { createKeptKey } from '../../../../coordinator/secrets/at-rest.ts';
import { createChannel, deleteChannel } from '../../../../shared/api/channels.ts';
import { createGroup } from '../../../../shared/api/groups.ts';
import { type Operation, type OutputOf, rawInput } from '../../../../shared/api/operation.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { type Demo, seedDemo } from '../../../support/demo.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
  testSecretKey,
} from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** The incident page: what it says, to whom, and what it never says. */
describe('detail', () => {
  let web: TestWeb;
  let unknownSender: TestOrganisation;

  beforeAll(async () => {
    web = await startWeb();
    unknownSender = await createTestOrganisation(web.sql);
  });
  afterAll(() => web.close());

  const post = (path: string, form: Record<string, string>, as: Person) => web.send(path, form, as);

  const hostile = '<script>alert(1)</script>';

  const monitor = async (name: string): Promise<string> => {
    const id = newId();
    await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, created_at)
    values (${id}, ${web.house.organisation}, 0, ${name}, 'https', 'https://shop.example/secret?key=1', 60, now() - interval '1 day')`;
    return id;
  };

  const incident = async (name = 'Checkout'): Promise<string> => {
    const [id, of] = [newId(), await monitor(name)];
    const cause = '{"class":"unexpected_status","params":{"status":503,"expected":"2xx"}}';
    await web.sql`
    insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_probe, seen_continent, confirmed_probe, confirmed_continent, cause,
      scope, layer)
    values (${id}, ${web.house.organisation}, ${of}, now() - interval '372 seconds', now() - interval '371.737 seconds', 'Frankfurt', 'Europe',
      'Virginia', 'North America', ${cause}::text::jsonb, 'some_continents', 'http')`;
    const saw = (
      part: string,
      continent: string,
      probe: string,
      outcome: number,
      evidence: object,
    ) =>
      web.sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms, cause, phases, evidence)
      values (${id}, ${part}, ${continent}, ${probe},
        (select coalesce(case ${part} when 'confirmed' then confirmed_at end, started_at) from incidents where id = ${id}), ${outcome}, 12, ${outcome === 1 ? cause : 'null'}::text::jsonb,
        '{"dns":3.2,"tcp":11,"tls":24,"first_byte":12,"total":51}', ${JSON.stringify(evidence)}::text::jsonb)`;
    await saw('seen', 'Europe', 'Frankfurt', 1, {
      status: 503,
      address: '203.0.113.10',
      body: `${hostile} upstream`,
    });
    await saw('confirmed', 'North America', 'Virginia', 1, {
      status: 503,
      address: '203.0.113.10',
    });
    await saw('matrix', 'Asia', 'Singapore', 0, { status: 200, address: '203.0.113.77' });
    return id;
  };

  describe('the page of an incident', () => {
    test('begins with the fault, where it is seen and its layer', async () => {
      const id = await incident();
      const { status, text } = await web.get(`/incidents/${id}`, { as: 'viewer' });
      expect(status).toBe(200);
      expect(text).toContain('<title>Down: Checkout · Antipode</title>');
      expect(text).toMatch(/<h1>Checkout is down from 2 of 3 continents<\/h1>/);
      expect(text).toContain('<p class="outage-cause">Status 503, expected 2xx</p>');
      expect(text).toContain('Seen from Europe, confirmed from North America 263 ms later.');
      expect(text).toContain('Network and TLS are fine; the server returns an error.');
    });

    test('shows in one banner the address, since when in the zone of its name, each place, the runbook, and what to press', async () => {
      const id = await incident();
      await web.sql`update monitors m set runbook = '1. Restart **it**' from incidents i
        where i.id = ${id} and m.id = i.monitor_id`;
      const bannerFor = async (role: 'viewer' | 'member') => {
        const text = await web.text(`/incidents/${id}`, role);
        return text.slice(
          text.indexOf('id="banner"'),
          text.indexOf('</section>', text.indexOf('id="banner"')),
        );
      };
      const shown = await bannerFor('member');
      expect(shown).toMatch(/<a href="https?:[^"]+" rel="noreferrer">/);
      expect(shown).toMatch(
        /since <b><time [^>]*>[^<]+<\/time><\/b> <abbr title="UTC">UTC<\/abbr>/,
      );
      expect(shown.match(/<b>(Europe|N\. America|Asia)<\/b>/g)).toHaveLength(3);
      expect(shown).toContain('<ol><li>Restart <b>it</b></li></ol>');
      const pressed = ['Acknowledge', 'Test now', 'For 1 h'];
      for (const words of pressed) expect(shown).toContain(words);
      const read = await bannerFor('viewer');
      expect(read).toContain('Restart <b>it</b>');
      for (const words of pressed) expect(read).not.toContain(words);
    });

    test('mutes its monitor, and comes back with who did and until when', async () => {
      const id = await incident();
      const [row] = await web.sql<{ monitor: string }[]>`
        select monitor_id as monitor from incidents where id = ${id}`;
      const act = (verb: string, back: string) =>
        post(`/monitors/${row?.monitor}/${verb}`, { for: '60', back }, web.house.member);
      const muted = await act('mute', `/incidents/${id}`);
      expect([muted.status, muted.headers.get('location')]).toEqual([303, `/incidents/${id}`]);
      expect(await web.text(`/incidents/${id}`, 'member')).toMatch(/Muted until .* by .*Unmute/s);
      const unmuted = await act('unmute', '//elsewhere.example');
      expect(unmuted.headers.get('location')).toBe(`/monitors/${row?.monitor}`);
    });

    test('says in its timeline whether anybody was notified, not that an alert was sent', async () => {
      const id = await incident('Lonely');
      const alert = (event: string, ago: string) =>
        web.sql`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at)
          select organisation_id, monitor_id, id, ${event}, 'due', now() - ${ago}::interval
          from incidents where id = ${id}`;
      await alert('down', '6 minutes');
      const storyOf = async () =>
        /<ol class="story">.*?<\/ol>/s.exec(await web.text(`/incidents/${id}`, 'viewer'))?.[0];
      expect(await storyOf()).toContain('Nobody was notified. <a href="#why">Why?</a>');
      expect(await storyOf()).not.toContain('Alert sent');
      // It has been open for longer than checks follow each other every few seconds (rule 13).
      expect(await storyOf()).toContain('Re-checking from each location in turn');
      await web.sql`update incidents set resolved_at = now() where id = ${id}`;
      await alert('up', '1 minute');
      expect(await storyOf()).not.toContain('Recovery alert');
      await web.sql`update alerts set due_at = now() where incident_id = ${id} and event = 'down'`;
      expect(await storyOf()).toContain('Alert queued');
      await web.sql`update incidents set resolved_at = null where id = ${id}`;
    });

    test('has the whole value of uptime where one points at it', async () => {
      const id = await incident();
      expect(await web.text(`/incidents/${id}`, 'viewer')).not.toContain('Uptime of');
      await web.sql`update incidents set started_at = started_at - interval '2 hours' where id = ${id}`;
      const text = await web.text(`/incidents/${id}`, 'viewer');
      expect(text).toMatch(/Uptime of 1 day: <b><span title="\d+\.\d{4}%">\d+\.\d\d%<\/span><\/b>/);
    });

    test('has no percentage of a monitor younger than an hour', async () => {
      const id = await incident();
      const [row] = await web.sql<{ monitor: string; created_at: number }[]>`
        select m.id as monitor, m.created_at from incidents i
        join monitors m on m.id = i.monitor_id where i.id = ${id}`;
      const set = (at: number) =>
        web.sql`update monitors set created_at = ${new Date(at)} where id = ${row?.monitor ?? ''}`;
      await set(Date.now());
      const text = await web.text(`/incidents/${id}`, 'viewer');
      await set(row?.created_at ?? 0);
      expect(text).not.toContain('Uptime of');
      expect(text).toMatch(/of\s+downtime\.|No downtime\s+counted/);
    });

    test('says where one network saw it twice', async () => {
      const id = await incident();
      const story = async () => {
        const text = await web.text(`/incidents/${id}`, 'viewer');
        return text.replaceAll(/\s+/g, ' ');
      };
      expect(await story()).not.toContain('in one network');
      const [row] = await web.sql<Record<string, string>[]>`
        select seen_probe, seen_continent, confirmed_probe, confirmed_continent
        from incidents where id = ${id}`;
      for (const part of ['seen', 'confirmed'])
        await web.sql`insert into probes (id, name, continent, origin_as) values (${newId()},
          ${row?.[`${part}_probe`] ?? ''}, ${row?.[`${part}_continent`] ?? ''}, 64500)`;
      expect(await story()).toContain('Both probes are in one network, AS64500');
    });

    test('rule 10: says why one private place confirms another', async () => {
      const id = await incident('Intranet');
      const place = newId();
      await web.sql`insert into places (id, organisation_id, name, continent)
        values (${place}, ${web.house.organisation}, 'Office Paris', 'Europe')`;
      await web.sql`update incidents set seen_place = ${newId()}, confirmed_place = ${place},
        confirmed_continent = 'Europe' where id = ${id}`;
      await web.sql`update incident_evidence set continent = ${`Europe/${place}`}
        where incident_id = ${id} and part = 'confirmed'`;
      const text = await web.text(`/incidents/${id}`, 'viewer');
      expect(text.replaceAll(/\s+/g, ' ')).toContain(
        'Confirmed by <b>Virginia</b>, Office Paris, another host and public address',
      );
    });

    test('puts what every continent saw side by side, and marks what is unlike most others', async () => {
      const text = await web.text(`/incidents/${await incident()}`, 'viewer');
      const rows = [...text.matchAll(/<tr[^>]*><th scope="row">([^<]*)(.*?)<\/tr>/gs)].map(
        ([, label, cells]) => [label, cells ?? ''] as const,
      );
      const of = (label: string) => rows.find(([name]) => name === label)?.[1] ?? '';
      expect(of('Status').match(/class="differs"/g)).toHaveLength(1);
      expect(of('Status')).toMatch(/503.*503.*class="differs".*200/s);
      expect(of('Address')).toContain('203.0.113.77');
      expect(of('Verdict')).toMatch(/Fails.*Fails.*Passes/s);
      // Times are never alike, which is no news.
      expect(of('Phases')).not.toContain('differs');
    });

    test('shows text of the target and names as text', async () => {
      const { text } = await web.get(`/incidents/${await incident(`${hostile}שלום👩‍👩‍👧`)}`, {
        as: 'owner',
      });
      expect(text).not.toContain(hostile);
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; upstream');
    });

    test('is not found under an unknown id', async () => {
      for (const id of [newId(), 'x'])
        expect((await web.get(`/incidents/${id}`, { as: 'owner' })).status).toBe(404);
    });

    test('offers to write and to share to those alone who may', async () => {
      const id = await incident();
      const reader = await web.get(`/incidents/${id}`, { as: 'viewer' });
      expect(reader.text).not.toContain('Add note');
      expect(reader.text).not.toContain('/share"');
    });

    test('says from how many continents it is down, and who is checking still', async () => {
      const id = await incident('Search');
      const progress = {
        progress: { asked: ['Europe', 'Asia', 'Africa'], failed: ['Europe', 'Asia'], passed: [] },
      };
      await web.sql`update incidents set progress = ${JSON.stringify(progress)} where id = ${id}`;
      const text = await web.text(`/incidents/${id}`, 'viewer');
      expect(text).toMatch(/<h1>Search is down from 2 of 3 continents; Africa is checking<\/h1>/);
    });

    test('takes a post-mortem as a draft, then publishes it', async () => {
      const id = await incident();
      await web.sql`update incidents set resolved_at = now() where id = ${id}`;
      const page = async (as = web.house.viewer) =>
        (await web.get(`/incidents/${id}`, { as })).text;
      expect(await page()).not.toContain('Post-mortem');
      expect(await page(web.house.member)).toContain('Root cause');
      const write = (act: string) =>
        post(
          `/incidents/${id}/post-mortem`,
          { post_mortem: `Disk full ${hostile}`, act },
          web.house.member,
        );
      expect((await write('draft')).status).toBe(303);
      expect(await page()).toMatch(/Draft, .*Disk full &lt;script&gt;/s);
      await write('publish');
      expect(await page()).toMatch(/Published, /);
      await web.sql`delete from incidents where id = ${id}`;
    });

    test('takes a note into the story, and an empty one back with what is wrong', async () => {
      const id = await incident();
      const empty = await post(`/incidents/${id}/notes`, { text: '  ' }, web.house.member);
      expect(empty.status).toBe(400);
      expect(empty.text).toContain('aria-invalid="true"');
      expect(empty.text).not.toContain('data-live');
      const written = await post(
        `/incidents/${id}/notes`,
        { text: `Deployed at noon ${hostile}` },
        web.house.member,
      );
      expect([written.status, written.headers.get('location')]).toEqual([303, `/incidents/${id}`]);
      const text = await web.text(`/incidents/${id}`, 'viewer');
      expect(text).toContain('Deployed at noon &lt;script&gt;');
    });
  });

  describe('a share link', () => {
    test('is shown once, opens without an account, and shows nothing once revoked', async () => {
      const id = await incident();
      const made = await post(`/incidents/${id}/share`, {}, web.house.member);
      expect(made.status).toBe(200);
      expect(made.headers.get('cache-control')).toBe('no-store');
      // A refresh would take the link away.
      expect(made.text).not.toContain('data-live');
      const [, path = ''] =
        new RegExp(`${web.url}(/shared/incidents/[A-Za-z0-9_-]+)`).exec(made.text) ?? [];
      expect(path).not.toBe('');
      const read = await web.get(`/incidents/${id}`, { as: 'member' });
      expect(read.text).not.toContain(path);
      expect(read.text).toContain('data-live');
      const open = await web.get(path);
      expect(open.status).toBe(200);
      expect(open.text).toContain('<h1>Checkout is down from 2 of 3 continents</h1>');
      for (const hidden of [
        '203.0.113',
        'upstream',
        'secret?key',
        'shop.example',
        'Frankfurt',
        web.house.member.email,
      ])
        expect(open.text).not.toContain(hidden);
      expect(open.headers.get('x-robots-tag')).toBe('noindex');
      expect(open.headers.get('cache-control')).toBe('no-store');
      expect(open.headers.get('referrer-policy')).toBe('no-referrer');
      await post(`/incidents/${id}/share/withdraw`, {}, web.house.member);
      expect((await web.get(path)).status).toBe(404);
      expect((await web.get('/shared/incidents/x')).status).toBe(404);
    });
  });

  describe('the list of incidents', () => {
    test('answers first whether anything is down, and lists the newest first, by state and time', async () => {
      await incident('Zebra');
      const text = await web.text('/incidents', 'viewer');
      expect(text).toMatch(/<h1>Zebra and \d+ more are down<\/h1>/);
      expect(text.indexOf('>Zebra</a>')).toBeLessThan(text.indexOf('>Checkout</a>'));
      expect(await web.text('/incidents?state=resolved', 'viewer')).toContain('No incidents match');
    });

    test('folds three and more of one monitor into one row, which opens them, and says that it flaps', async () => {
      const of = await monitor('Webhooks ingest');
      for (const minutes of [25, 15, 5])
        await web.sql`
          insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
          values (${newId()}, ${web.house.organisation}, ${of}, ${new Date(Date.now() - minutes * 60_000)},
            ${new Date(Date.now() - minutes * 60_000)}, ${new Date(Date.now() - (minutes - 1) * 60_000)})`;
      const text = await web.text('/incidents?state=all', 'viewer');
      expect(text.match(/>Webhooks ingest<\/a>/g)).toHaveLength(1);
      expect(text).toContain('Flapping: 3 times in 30 min');
      const [, href = ''] = /href="([^"]*)">3 times</.exec(text) ?? [];
      const open = newId();
      await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
        values (${open}, ${web.house.organisation}, ${of}, now(), now())`;
      expect(await web.text(`/incidents/${open}`, 'viewer')).toContain(
        'Flapping: 4 times in 30 min',
      );
      await web.sql`delete from incidents where id = ${open}`;
      const all = await web.get(href.replaceAll('&amp;', '&'), { as: 'viewer' });
      expect(all.text.match(/>Webhooks ingest<\/a>/g)).toHaveLength(3);
    });

    test('of a new organisation is one sentence and one action', async () => {
      const text = await web.text('/incidents', unknownSender.owner);
      expect(text).toContain('<h1>Nothing is down</h1>');
      expect(text).toContain('href="/monitors/new"');
    });

    test('of an invalid time or continent is not found', async () => {
      expect(
        (await web.get('/incidents?cursor=x&days=many', { as: unknownSender.owner })).status,
      ).toBe(404);
    });
  });
});

/** Why somebody was told, who is on it, and where the links of messages lead. */
describe('notifications of an incident', () => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    web = await startWeb();
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
  });
  afterAll(() => web.close());
  beforeEach(async () => {
    await web.sql`update incidents set acknowledged_at = null, acknowledged_by = null, acknowledged_as = null`;
  });

  const onIt = async () => {
    const [row] = await web.sql<{ by: string | null; as: string | null }[]>`
    select acknowledged_by as by, acknowledged_as as as from incidents where id = ${demo.incident}`;
    return row;
  };
  const ask = async <Op extends Operation>(operation: Op, input: object): Promise<OutputOf<Op>> =>
    // The gate's handlers are typed by their operations; a table of unlike operations cannot say
    // so.
    (await web.gate.execute(operation, web.house.owner.caller, rawInput(operation, input)))
      .body as OutputOf<Op>;
  const incident = () => `/incidents/${demo.incident}`;

  describe('the page of an incident', () => {
    test('rule 40: says for every channel why it was notified or not, with its latency, to viewers too', async () => {
      const text = await web.text(incident(), 'viewer');
      expect(text).toContain('Delivered in 191 ms');
      expect(text.replace(/<[^>]*>/g, '')).toContain('PagerCannot deliver');
      expect(text).toContain('<span>Alert sent</span>');
      for (const line of [
        'Attempt 1: failed, retrying (HTTP 503: it answers with an error).',
        'Attempt 2: delivered (HTTP 200).',
        'On hold: this channel has a delay',
        'Not notified: the address is not confirmed yet.',
        'Not notified: the channel is turned off.',
      ])
        expect(text).toContain(line);
    });

    test('rule 34: is where a member says that they are on it, once; a viewer only sees who is', async () => {
      const button = `action="${incident()}/acknowledge"`;
      expect(await web.text(incident(), 'viewer')).not.toContain(button);
      expect(await web.text(incident(), 'member')).toContain(button);
      const done = await web.send(`${incident()}/acknowledge`, {}, 'member');
      expect([done.status, done.headers.get('location')]).toEqual([303, incident()]);
      expect((await onIt())?.by).toBe(web.house.member.user);
      const text = await web.text(incident(), 'viewer');
      expect(text).toContain(`Acknowledged by <b>${web.house.member.email}</b>`);
      expect(await web.text(incident(), 'owner')).not.toContain(button);
      const act = (what: string, form: Record<string, string> = {}) =>
        web.send(`${incident()}/${what}`, form, 'member');
      expect((await act('assign', { email: web.house.owner.email })).status).toBe(303);
      expect((await onIt())?.by).toBe(web.house.owner.user);
      const [to, by] = [web.house.owner.email, web.house.member.email];
      expect(await web.text(incident(), 'member')).toContain(
        `Assigned to <b>${to}</b> by <b>${by}</b>`,
      );
      const list = await web.get('/incidents', { as: 'viewer' });
      expect(list.text).toMatch(new RegExp(`${web.house.owner.email}\\s*, 1 min`));
      expect((await act('hand-back')).status).toBe(303);
      expect(await onIt()).toEqual({ by: null, as: null });
      const after = await web.get(incident(), { as: 'member' });
      expect(after.text).toContain(button);
      expect(after.text).toContain(`Handed back by <b>${web.house.member.email}</b>`);
    });
  });

  test('the page of a monitor lists its recipients, when they are notified, and who is not', async () => {
    const text = await web.text(`/monitors/${demo.idOf('Checkout')}`, 'viewer');
    const told = text.slice(
      text.indexOf('id="told"'),
      text.indexOf('</section>', text.indexOf('id="told"')),
    );
    expect(
      [...told.matchAll(/<a href="\/alerts\/[^"]+">([^<]+)<\/a> <span class="soft">([^<]+)/g)].map(
        ([, name, when]) => [name, when],
      ),
    ).toEqual([
      ['#ops', 'immediately'],
      ['ana@shop.example', 'immediately'],
      ['Night shift', 'immediately'],
      ['Pager', 'after 5 min'],
    ]);
    expect(told).toContain('Cannot deliver: e-mail is not set up');
    expect(told.slice(told.indexOf('Pager'))).toContain('Cannot deliver');
    expect(await web.text(`/monitors/${demo.idOf('CDN')}`, 'viewer')).not.toContain('Night shift');
  });

  test('the form of a monitor lists its recipients, by the filters of the channels and the selected group', async () => {
    const { id: group } = await ask(createGroup, { name: 'Told of' });
    const hook = {
      kind: 'webhook',
      name: 'Group hook',
      config: { url: 'https://hooks.example.org/' },
      covers: 'chosen',
      try: false,
      groups: [group],
    };
    const { id: channel } = await ask(createChannel, hook);
    const told = (text: string): string =>
      /id="would-be-told"[^>]*>(.*?)<\/span><\/summary>/.exec(text)?.[1] ?? '';
    const fresh = told(await web.text('/monitors/new', 'member'));
    expect(fresh).toMatch(
      /^#ops immediately · <span class="state-verifying">2 channels cannot deliver<\/span>$/,
    );
    expect(fresh).not.toContain('Group hook');
    const chosen = await web.send('/monitors/new', { type: 'https', act: 'look', group }, 'member');
    expect(told(chosen.text)).toContain('Group hook immediately');
    const checkout = `/monitors/${demo.idOf('Checkout')}/edit`;
    expect(told(await web.text(checkout, 'member'))).toContain(' · 1 off · ');
    expect(String(notificationInWords([]))).toBe('Nobody would be notified when it is down');
    await ask(deleteChannel, { channel_id: channel });
  });

  describe('the link of a message', () => {
    // As a phone or a mail service posts: no browser, no session, nothing that says where it comes
    // from.
    const fromOutside = (path: string, form: Record<string, string> = {}) => web.post(path, form);
    const acknowledge = () => `/acknowledge/${demo.channels.links.acknowledge}`;
    const unsubscribe = () => `/unsubscribe/${demo.channels.links.unsubscribe}`;

    test('rule 34: acknowledges with a POST, from anywhere, and only shows with a GET', async () => {
      const shown = await web.get(acknowledge());
      expect(shown.text).toContain('Checkout is down: status 503, expected 2xx.');
      expect((await onIt())?.as).toBeNull();
      expect([shown.headers.get('cache-control'), shown.headers.get('referrer-policy')]).toEqual([
        'no-store',
        'no-referrer',
      ]);
      expect((await fromOutside(acknowledge())).text).toContain('<h1>Acknowledged</h1>');
      expect((await onIt())?.as).toContain('#ops');
      const again = await fromOutside(acknowledge());
      expect(again.text).toContain('Already resolved or acknowledged');
      expect(again.text).toContain(`href="${incident()}"`);
      expect(await web.text(acknowledge())).toContain('Already acknowledged');
    });

    test('rule 34: has a short form for an SMS, with the same rights', async () => {
      const { acknowledge_short: short } = demo.channels.links;
      expect(short).toMatch(/^[0-9a-z]{1,10}[\w-]{16}$/);
      await web.sql`update incidents set acknowledged_at = null, acknowledged_as = null`;
      const shown = await web.get(`/a/${short}`);
      expect(shown.text).toContain('Checkout is down: status 503, expected 2xx.');
      expect(await onIt()).toMatchObject({ as: null });
      expect([shown.headers.get('cache-control'), shown.headers.get('referrer-policy')]).toEqual([
        'no-store',
        'no-referrer',
      ]);
      for (const path of [`/a/${short.slice(0, -2)}xx`, `/a/1${short}`, `/unsubscribe/${short}`])
        expect([path, (await web.get(path)).status, (await fromOutside(path)).status]).toEqual([
          path,
          404,
          404,
        ]);
      expect((await fromOutside(`/a/${short}`)).text).toContain('<h1>Acknowledged</h1>');
      expect((await onIt())?.as).toContain('#ops');
    });

    test('is valid for its action alone, and not with any letter changed', async () => {
      const { links } = demo.channels;
      for (const path of [
        `/unsubscribe/${links.acknowledge}`,
        `/acknowledge/${links.unsubscribe}`,
        `/acknowledge/${links.acknowledge.replace(/.(?=..$)/, (letter) => (letter === 'x' ? 'y' : 'x'))}`,
      ])
        expect([path, (await web.get(path)).status, (await fromOutside(path)).status]).toEqual([
          path,
          404,
          404,
        ]);
    });

    test('unsubscribes the address that the mail went to, not the one that the channel has now', async () => {
      const id = demo.channels.links.unsubscribe.slice(0, 36);
      const key = createKeptKey(web.sql, { secretKey: testSecretKey }, 'alert links');
      const signed = createHmac('sha256', await key())
        .update(`unsubscribe ${id}`)
        .digest();
      const ofBefore = `/unsubscribe/${id}.${signed.subarray(0, 16).toString('base64url')}`;
      const move = (address: string, days: number) => web.sql`
        update channels set config = ${JSON.stringify({ address })},
          verified_at = now() + ${days} * interval '1 day' where name = 'Night shift'`;
      const answers = async () => {
        const pages = await Promise.all([web.get(unsubscribe()), web.get(ofBefore)]);
        return pages.map(({ status, text }) => [status, /\w+@shop\.example/.exec(text)?.[0]]);
      };
      const night = [200, 'night@shop.example'];
      expect(await answers()).toEqual([night, night]);
      await move('new@shop.example', 1);
      expect(await answers()).toEqual([
        [404, undefined],
        [404, undefined],
      ]);
      for (const path of [unsubscribe(), ofBefore])
        expect((await fromOutside(path)).status).toBe(404);
      expect(await web.sql`select 1 from suppressions`).toHaveLength(0);
      // Back at the address, the older link alone cannot say where its mail went.
      await move('Night@shop.example', 1);
      expect(await answers()).toEqual([
        [200, 'Night@shop.example'],
        [404, undefined],
      ]);
      await move('night@shop.example', -40);
    });

    test('ends the mails of one address in one click, however the mail service sends it', async () => {
      expect(await web.text(unsubscribe())).toContain('night@shop.example');
      const suppressed = () => web.sql<{ address: string }[]>`select address from suppressions`;
      expect(await suppressed()).toEqual([]);
      const body = new FormData();
      body.set('List-Unsubscribe', 'One-Click');
      expect((await fetch(`${web.url}${unsubscribe()}`, { method: 'POST', body })).status).toBe(
        200,
      );
      expect(await suppressed()).toEqual([{ address: 'night@shop.example' }]);
      expect((await fromOutside(unsubscribe(), { 'List-Unsubscribe': 'One-Click' })).status).toBe(
        200,
      );
    });

    test('asks a mailbox first, and its yes counts once', async () => {
      const secret = 'y'.repeat(43);
      const [{ id } = { id: '' }] = await web.sql<{ id: string }[]>`
      update channels set verification = ${await web.accountSecrets.fingerprint('channel', secret)}, verification_until = now() + interval '1 day'
      where name = 'ana@shop.example' returning id`;
      const verified = async () =>
        (await web.sql`select 1 from channels where id = ${id} and verified_at is not null`)
          .length === 1;
      expect(await web.text(`/confirm-channel/${secret}`)).toContain('Confirm alerts');
      expect(await verified()).toBe(false);
      const say = () => web.send(`/confirm-channel/${secret}`, {});
      expect((await say()).text).toContain('now gets alerts');
      expect(await verified()).toBe(true);
      expect((await say()).text).toContain('Already confirmed');
      expect(await web.text(`/confirm-channel/${secret}`)).toContain('Already confirmed');
      const foreign = await web.get(`/confirm-channel/${'z'.repeat(43)}`);
      expect([
        foreign.status,
        foreign.text.includes('This link has expired'),
        foreign.text.includes('<form'),
      ]).toEqual([404, true, false]);
    });

    test('the page of a message says why it came, under the channel that it went to alone', async () => {
      const { ops, pager, message } = demo.channels;
      expect(await web.text(`/alerts/${ops}/messages/${message}`, 'viewer')).toContain(
        'Why you got this',
      );
      expect((await web.get(`/alerts/${pager}/messages/${message}`, { as: 'viewer' })).status).toBe(
        404,
      );
    });
  });
});
