import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createOrganisationLookup } from '../../../coordinator/gate/lookups.ts';
import {
  type OperatorDependencies,
  runUnderstood,
  understand,
} from '../../../coordinator/operator/command-line.ts';
import { gateBench } from '../../support/gate.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

describe('probe invitations', () => {
  const bench = gateBench();

  const nothing = () => Promise.reject(new Error('no invitation needs this'));
  const dependencies = (): OperatorDependencies => ({
    gate: bench.gate,
    organisations: createOrganisationLookup(bench.sql),
    userNamed: nothing,
    migrate: async () => [],
    backup: nothing,
    backups: { nightly: nothing, drillNewest: nothing, takeUp: nothing },
    restore: nothing,
    rotateKey: nothing,
    keys: {},
  });

  const run = async (
    ...argv: readonly string[]
  ): Promise<{ readonly out: string; readonly err: string }> => {
    let [out, err] = ['', ''];
    const streams = {
      watched: false,
      out: (text: string) => {
        out += text;
      },
      err: (text: string) => {
        err += text;
      },
    };
    const understood = understand(argv, streams);
    if (typeof understood !== 'number') await runUnderstood(understood, dependencies(), streams);
    return { out, err };
  };

  const json = async (...argv: readonly string[]): Promise<Record<string, unknown>> => {
    const { out, err } = await run(...argv, '--json');
    expect(err).toBe('');
    return JSON.parse(out);
  };

  test('invites hosts to be probes, public ones and those of an organisation, and takes an invitation back', async () => {
    const organisation = String((await json('organisation', 'create', '--name', 'Inviting')).id);
    const where = ['--name', 'Nairobi', '--continent', 'Africa'] as const;
    const open = await json('probe', 'invite', ...where);
    expect(open).toMatchObject({ name: 'Nairobi', state: 'open' });
    expect(open.command).toContain(`join https://antipode.test ${String(open.token)}`);
    const own = await json('probe', 'invite', ...where, '--organisation', organisation);
    const behind = await json(
      'probe',
      'invite',
      '--name',
      'Lagos',
      '--continent',
      'Africa',
      '--ca',
      '/etc/our ca.pem',
    );
    expect(behind.command).toContain("curl --cacert '/etc/our ca.pem' -fsSO");
    expect(behind.command).toContain("antipode-probe.mjs join --ca '/etc/our ca.pem' http");
    const inside = await json(
      'probe',
      'invite',
      '--name',
      'Accra',
      '--continent',
      'Africa',
      '--organisation',
      organisation,
      '--ca',
      '~/ca.pem',
    );
    expect(inside.command).toContain('curl --cacert ~/ca.pem -fsSO');
    expect((await run('probe', 'invite', ...where)).err).toContain('name_taken');
    expect((await run('probe', 'invite', '--name', 'X', '--continent', 'Atlantis')).err).toContain(
      'continent_unknown',
    );
    const listed = JSON.stringify(await json('probe', 'invitations'));
    for (const { id } of [open, own]) expect(listed).toContain(String(id));
    expect(listed).not.toContain(String(open.token));
    expect(await json('probe', 'uninvite', '--id', String(own.id))).toEqual({ id: own.id });
    expect((await run('probe', 'uninvite', '--id', String(own.id))).err).toContain(
      'invitation_not_found',
    );
  });
});

describe('config warnings', () => {
  const bench = gateBench();
  const unused = () => Promise.reject(new Error('of no use here'));

  const run = async (...argv: readonly string[]) => {
    const dependencies: OperatorDependencies = {
      gate: bench.gate,
      organisations: createOrganisationLookup(bench.sql),
      userNamed: unused,
      migrate: async () => [],
      backup: unused,
      restore: unused,
      backups: { nightly: unused, drillNewest: unused, takeUp: unused },
      keys: {},
      rotateKey: unused,
    };
    const out: string[] = [];
    const err: string[] = [];
    const streams = {
      out: (text: string) => void out.push(text),
      err: (text: string) => void err.push(text),
      watched: false,
    };
    const understood = understand([...argv, '--json'], streams);
    return {
      code:
        typeof understood === 'number'
          ? understood
          : await runUnderstood(understood, dependencies, streams),
      out: out.join(''),
      err: err.join(''),
    };
  };

  test('an operator who types a config key without effect reads the probable intention, and the monitor is created', async () => {
    await run('organisation', 'create', '--name', 'Typing');
    const line = [
      'monitor',
      'create',
      '--organisation',
      'Typing',
      '--type',
      'dns',
      '--target',
      'example.com',
    ];
    const typo = await run(...line, '--config', '{"record_typ":"MX","odd\\u001b[31m":1}');
    expect([typo.code, typo.err]).toEqual([
      0,
      '`odd\\x1b[31m` is not used by dns checks\n`record_typ` is not used by dns checks; did you mean `record_type`?\n',
    ]);
    expect(JSON.parse(typo.out)).toMatchObject({ config: { record_typ: 'MX' } });
    expect(await run(...line, '--config', '{"record_type":"MX"}')).toMatchObject({
      code: 0,
      err: '',
    });
  });
});

/** The operator's page, for the viewer of an organisation: their role there says nothing here. */
describe('pages', () => {
  const sameOrigin = { 'sec-fetch-site': 'same-origin' };

  let web: TestWeb;
  beforeAll(async () => {
    web = await startWeb();
    await web.sql`insert into notices (kind, subject, message) values ('probe_lost', 'p', 'Osaka <1> was not heard.')`;
  });
  afterAll(() => web.close());

  const mark = (is_operator: boolean) =>
    web.sql`update users set is_operator = ${is_operator} where id = ${web.house.viewer.user}`;
  beforeEach(async () => {
    await mark(true);
  });

  const setAside = async (): Promise<string> => {
    const [row] = await web.sql<{ id: number }[]>`insert into set_aside (subject, reason, data)
    values ('results.p.3', 'it is broken', '<b>what came</b>') returning id`;
    return `/operator/set-aside/${row?.id}`;
  };

  const main = (text: string): string => /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? '';

  describe('the operator', () => {
    test('sees what needs action, with what to do, and everything of the installation', async () => {
      const { status, text } = await web.get('/operator', { as: 'viewer' });
      expect(status).toBe(200);
      expect(text).toContain('<h1>Osaka &lt;1&gt; was not heard</h1>');
      expect(text).toContain('Start the probe again with the same data folder');
      for (const each of [
        'Version 1.',
        'Open incidents',
        'Organisations',
        web.house.name,
        'Probes',
      ])
        expect(main(text)).toContain(each);
    });

    test('sees who watches the installation, and when they last took a ping', async () => {
      const seen = async () => main((await web.get('/operator', { as: 'viewer' })).text);
      expect(await seen()).toContain('watch.example.org watches it, but has accepted no ping yet');
      await web.sql`update installation set sign_of_life_at = now()`;
      expect(await seen()).toContain('watch.example.org accepted its ping');
    });

    test('has the page in the navigation, from the grant until it is revoked, with the next request', async () => {
      const as = web.house.viewer;
      const entry = 'href="/operator"';
      expect((await web.get('/profile', { as })).text).toContain(entry);
      await mark(false);
      expect((await web.get('/profile', { as })).text).not.toContain(entry);
      const [gone, unknown] = [
        await web.get('/operator', { as }),
        await web.get('/nothing', { as }),
      ];
      expect([gone.status, main(gone.text)]).toEqual([404, main(unknown.text)]);
    });

    test('works on a message again, and drops it', async () => {
      const as = web.house.viewer;
      const address = await setAside();
      const page = await web.get(address, { as });
      expect(page.text).toContain('it is broken');
      expect(page.text).toContain('&lt;b&gt;what came&lt;/b&gt;');
      const again = await web.post(`${address}/retry`, {}, { as, headers: sameOrigin });
      expect([again.status, again.headers.get('location')]).toEqual([303, '/operator']);
      expect((await web.get('/operator', { as })).text).toContain('Retry requested');
      const dropped = await web.post(`${address}/delete`, {}, { as, headers: sameOrigin });
      expect([dropped.status, dropped.headers.get('location')]).toEqual([303, '/operator']);
      expect((await web.get(address, { as })).status).toBe(404);
    });

    test('proves who they are before they drop one, and comes back to it', async () => {
      const as = web.house.viewer;
      const address = `${await setAside()}/delete`;
      const cookie = await web.cookieOf(as);
      await web.sql`update sessions set proven_at = now() - interval '1 day' where user_id = ${as.user}`;
      const asked = await web.post(address, {}, { cookie, headers: sameOrigin });
      expect([asked.status, asked.headers.get('location')]).toEqual([
        303,
        `/confirm?next=${encodeURIComponent(address)}`,
      ]);
      expect((await web.get(address, { cookie })).status).toBe(200);
    });
  });

  test('another user gets the same answer as for an unknown page', async () => {
    const [here, nowhere] = [await web.get('/operator'), await web.get('/nothing')];
    expect([here.status, here.text]).toEqual([
      404,
      nowhere.text.replaceAll('/nothing', '/operator'),
    ]);
  });
});
