import { createAssistantKey, recordFingerprint } from '../../coordinator/assistants/connections.ts';
import type { Sql } from '../../coordinator/database/connect.ts';
import { insertDraft } from '../../coordinator/imports/queries.ts';
import { insertSession } from '../../coordinator/people/sessions.ts';
import { createSecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import { newId } from '../../shared/base/crypto.ts';
import { importKuma } from '../../shared/imports/uptime-kuma.ts';
import { seedOwnOutages, seedStores } from './own-outages.ts';
import { type TestOrganisation, testSecretKey } from './people.ts';
import { rowsFor } from './rows.ts';
import type { TestWeb } from './web.ts';

/** For test files and pictures: what people of a house have set up for themselves. */

/** One of the viewer's passkeys. */
export const ownPasskey = '01900000-0000-7000-8000-000000000001';

/** One of the owner's tokens. */
export const ownToken = '01900000-0000-7000-8000-000000000002';

/** One of the owner's assistants. */
export const ownAssistant = '01900000-0000-7000-8000-000000000005';

/** A viewer, and somebody who was asked in. */
export const ownMember = '01900000-0000-7000-8000-000000000003';
export const ownInvitation = '01900000-0000-7000-8000-000000000004';

/** A probe of their own that was asked in, and has not come. */
export const ownProbeInvitation = '01900000-0000-7000-8000-000000000006';

/** A probe of their own. */
export const ownProbe = '01900000-0000-7000-8000-000000000008';

/** What is about to be imported. */
export const ownImport = '01900000-0000-7000-8000-000000000009';

/** A monitor in the trash. */
export const ownDeleted = '01900000-0000-7000-8000-000000000010';

/** A message that could not be worked on. */
export const ownSetAside = 7;

/** What the operator's page tells: the admin is the operator here. */
const seedOrganisation = async (
  { sql, house }: Pick<TestWeb, 'sql' | 'house'>,
  now: number,
): Promise<void> => {
  const at = (ago: number): number => now - ago;
  await sql`update users set is_operator = true where id = ${house.admin.user}`;
  const imported = importKuma(
    {
      monitor: [
        { id: 1, name: 'Web', type: 'group' },
        {
          id: 2,
          name: 'Front',
          type: 'http',
          url: 'https://front.example/',
          parent: 1,
          maxretries: 2,
        },
        {
          id: 3,
          name: 'Sign-in',
          type: 'http',
          url: 'https://in.example/',
          auth_method: 'basic',
          basic_auth_pass: 'x',
        },
        { id: 4, name: 'Container', type: 'docker' },
      ],
    },
    '2026-11-26',
  );
  await insertDraft(
    sql,
    createSecretsAtRest(testSecretKey),
    house.organisation,
    { id: ownImport, source: 'uptime-kuma', ...imported },
    now,
  );
  await sql`insert into deleted_monitors (monitor_id, monitor_key, organisation_id, name, type, target, deleted_at, deleted_by)
    values (${ownDeleted}, 1000000, ${house.organisation}, 'Old shop', 'https', 'https://old.shop.example/', ${new Date(at(86_400_000))}, 'Ben Ortiz')`;
  await sql`update installation set sign_of_life_at = ${new Date(at(20_000))}`;
  await sql`insert into notices (kind, subject, message, began_at, ended_at) values
    ('clock_differs', 'a', 'The clock of a coordinator is 3 s ahead of the database.', ${new Date(at(900_000))}, null),
    ('probe_lost', 'b', 'Virginia was not heard for 5 minutes.', ${new Date(at(90_000_000))}, ${new Date(at(86_000_000))})`;
  await sql`insert into refused (day, probe, reason, count, last_at)
    values ((${new Date(at(0))}::timestamptz at time zone 'UTC')::date, 'unknown', 'not_signed', 12, ${new Date(at(60_000))})`;
  await sql`insert into set_aside (id, subject, reason, data, at) overriding system value
    values (${ownSetAside}, 'results.a.12', 'RangeError: Invalid time value', ${Buffer.from('{"v":1,"results":[{"at":"never"}]}')}, ${new Date(at(7_200_000))})`;
};

/** People come and go, and what they did stands in the log. */
const seedPeople = async (
  { sql, house }: Pick<TestWeb, 'sql' | 'house'>,
  now: number,
): Promise<void> => {
  const { organisation, owner } = house;
  const at = (ago: number): number => now - ago;
  await sql`insert into users (id, email, name, password_hash) values (${ownMember}, 'dana@shop.example', 'Dana Wolf', 'none')`;
  await sql`insert into memberships (organisation_id, user_id, role) values (${organisation}, ${ownMember}, 'viewer')`;
  await sql`insert into invitations (id, organisation_id, email, role, invited_by, created_at, expires_at)
    values (${ownInvitation}, ${organisation}, 'eli@shop.example', 'member', ${owner.user}, ${new Date(at(86_400_000))}, ${new Date(at(-6 * 86_400_000))})`;
  const did = (operation: string, changed: object, ago: number, who = owner.email) => ({
    at: at(ago),
    organisation_id: organisation,
    who,
    through: 'page',
    operation,
    changed: { ...changed },
    address: '192.0.2.1',
  });
  await sql`insert into probe_invitations (id, organisation_id, name, continent, fingerprint, shown, created_at, expires_at)
    values (${ownProbeInvitation}, ${organisation}, 'Warehouse', 'Europe', ${Buffer.from('warehouse')}, 'svcj_w9Xk', ${new Date(at(60_000))}, ${new Date(at(-3_540_000))})`;
  await sql`insert into probes (id, organisation_id, name, continent) values (${ownProbe}, ${organisation}, 'Shop floor', 'Europe')`;
  const [monitor] = await sql<{ id: string }[]>`
    select id from monitors where organisation_id = ${organisation} and name = 'Checkout'`;
  const log = [
    did(
      'inviteMember',
      { about: {}, after: { email: 'eli@shop.example', role: 'member' } },
      4_000_000,
      'ben@shop.example',
    ),
    did(
      'setMemberRole',
      {
        about: {},
        before: { role: 'member' },
        after: { email: 'dana@shop.example', role: 'viewer' },
      },
      3_000_000,
    ),
    did(
      'createMonitor',
      {
        about: {},
        sent: {
          type: 'https',
          target: 'https://new.shop.example/',
          name: 'Newcomer',
          interval_s: 60,
        },
      },
      1_200_000,
    ),
    did(
      'updateMonitor',
      {
        about: { monitor_id: monitor?.id },
        before: { interval_s: 300, config: { expected_status: [200] } },
        after: { interval_s: 60, config: { expected_status: ['2xx'] } },
      },
      60_000,
    ),
  ];
  await sql`insert into audit_log ${rowsFor(sql, 'audit_log', log)}`;
  await sql`insert into audit_log (at, organisation_id, who, through, token_name, operation, changed)
    values (${new Date(at(30_000))}, ${organisation}, ${house.member.email}, 'api', 'Terraform', 'deleteGroup', '{"about": {}, "before": {"name": "Old shop"}}')`;
};

/** Programs of three members; none of the viewer's. */
const seedTokens = async (
  { sql, house }: Pick<TestWeb, 'sql' | 'house'>,
  now: number,
): Promise<void> => {
  const at = (ago: number): number => now - ago;
  await sql`update users set name = 'Ben Ortiz' where id = ${house.admin.user}`;
  await sql`update users set name = 'Chiara Rossi' where id = ${house.member.user}`;
  await sql`delete from tokens where organisation_id = ${house.organisation}`;
  const tokens = [
    {
      id: newId(),
      user: house.member,
      name: 'Grafana',
      scope: 'read',
      shown: 'svc_Qp81',
      made: 210,
      ends: -40,
      used: 4 * 60_000,
    },
    {
      id: newId(),
      user: house.admin,
      name: 'Terraform',
      scope: 'read_write',
      shown: 'svc_0aLm',
      made: 100,
      ends: 10,
      used: 11 * 86_400_000,
    },
    {
      id: ownToken,
      user: house.owner,
      name: 'Deployments',
      scope: 'read_write',
      shown: 'svc_k3Fa',
      made: 30,
      ends: null,
      used: 180_000,
    },
    {
      id: newId(),
      user: house.owner,
      name: 'Laptop',
      scope: 'read',
      shown: 'svc_Zr5T',
      made: 1,
      ends: null,
      used: null,
    },
  ];
  for (const { user, made, ends, used, ...token } of tokens)
    await sql`insert into tokens ${rowsFor(sql, 'tokens', {
      ...token,
      organisation_id: house.organisation,
      user_id: user.user,
      fingerprint: Buffer.from(token.id),
      created_at: at(made * 86_400_000),
      expires_at: ends === null ? null : at(ends * 86_400_000),
      last_used_at: used === null ? null : at(used),
    })}`;
};

/** Clients that registered, and where they return to. */
const clients = {
  site: { client_name: 'Claude', redirect_uri: 'https://claude.ai/api/mcp/auth_callback' },
  machine: { client_name: 'Visual Studio Code', redirect_uri: 'http://127.0.0.1:33418/' },
} as const;

/** Where one of them sends its person. */
export const askedBy = (client: keyof typeof clients): string =>
  `/oauth/auth?${new URLSearchParams({
    client_id: `demo-${client}`,
    redirect_uri: clients[client].redirect_uri,
    response_type: 'code',
    scope: 'read write',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  })}`;

const seedClients = async ({ sql }: Pick<TestWeb, 'sql'>, now: number): Promise<void> => {
  const key = await createAssistantKey(sql, { secretKey: testSecretKey })();
  for (const [name, { client_name, redirect_uri }] of Object.entries(clients)) {
    const client_id = `demo-${name}`;
    const payload = JSON.stringify({ client_id, client_name, redirect_uris: [redirect_uri] });
    await sql`insert into oauth_records (model, fingerprint, payload, created_at)
      values ('Client', ${recordFingerprint(key, 'Client', client_id)}, ${payload}::text::jsonb, ${new Date(now)})`;
  }
};

/** Assistants of three members. */
const seedAssistants = async (
  { sql, house }: Pick<TestWeb, 'sql' | 'house'>,
  now: number,
): Promise<void> => {
  const at = (ago: number): number => now - ago;
  const day = 86_400_000;
  const assistants = [
    {
      id: newId(),
      user: house.viewer,
      client_name: 'ChatGPT',
      redirect_host: 'chatgpt.com',
      scope: 'read',
      made: 60,
      used: 2 * day,
    },
    {
      id: ownAssistant,
      user: house.owner,
      client_name: 'Claude',
      redirect_host: 'claude.ai',
      scope: 'read_write',
      made: 12,
      used: 240_000,
    },
    {
      id: newId(),
      user: house.admin,
      client_name: 'Visual Studio Code',
      redirect_host: '127.0.0.1',
      scope: 'read_write',
      made: 2,
      used: null,
    },
  ];
  for (const { user, made, used, ...row } of assistants)
    await sql`insert into connections ${rowsFor(sql, 'connections', {
      ...row,
      organisation_id: house.organisation,
      user_id: user.user,
      client_id: row.id,
      created_at: at(made * day),
      last_used_at: used === null ? null : at(used),
    })}`;
};

/**
 * Tokens; and the viewer signs in with a second step, of whose recovery codes three are left, and
 * has two passkeys.
 */
export const seedOwnThings = async (
  { sql, house }: Pick<TestWeb, 'sql' | 'house'>,
  now: number,
): Promise<void> => {
  await seedPeople({ sql, house }, now);
  await seedTokens({ sql, house }, now);
  await seedAssistants({ sql, house }, now);
  await seedClients({ sql }, now);
  await seedOrganisation({ sql, house }, now);
  await seedOwnOutages({ sql, house }, now);
  await seedStores({ sql }, now);
  for (const [device, address, ago] of [
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) Version/18.5 Safari/604.1',
      '203.0.113.40',
      2,
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0.0.0 Safari/537.36',
      '198.51.100.7',
      50,
    ],
  ] as const)
    await insertSession(sql, {
      ...{ id: newId(), user: house.owner.user, device, address },
      fingerprint: Buffer.from(device),
      at: now - ago * 3_600_000,
    });
  const { user } = house.viewer;
  await sql`insert into second_factors (user_id, secret, created_at, last_step, recovery_codes) values (${user}, ${Buffer.alloc(60)}, ${new Date(now - 20 * 86_400_000)}, 0, array['00', '01', '02']::bytea[])`;
  const [added, used] = [new Date(now - 12 * 86_400_000), new Date(now - 3 * 3_600_000)];
  await sql`insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, is_synced, created_at, last_used_at) values
    (${ownPasskey}, ${user}, 'a', '', 0, '{}', 'Safari on iPhone', true, ${added}, ${used}),
    (${newId()}, ${user}, 'b', '', 0, '{}', 'The stick in the safe', false, ${used}, null)`;
  const provider = newId();
  await sql`insert into sign_in_providers (id, organisation_id, issuer, client_id, group_roles, domain,
      domain_token, domain_proved_at, scim_fingerprint, scim_since)
    values (${provider}, ${house.organisation}, 'https://login.shop.example', 'antipode',
      '[{"group":"sre","role":"admin"},{"group":"*","role":"viewer"}]', 'shop.example', 't', ${added}, 'x',
      ${used})`;
  await sql`insert into scim_groups (id, organisation_id, provider_id, said, created_at, changed_at)
    select gen_random_uuid(), ${house.organisation}, ${provider}, jsonb_build_object('displayName', name),
      ${used}, ${used} from unnest(array['sre', 'support']) as name`;
  await sql`insert into scim_users (id, organisation_id, provider_id, said, created_at, changed_at)
    select gen_random_uuid(), ${house.organisation}, ${provider},
      jsonb_build_object('userName', name || '@shop.example', 'active', true), ${used},
      ${new Date(now - 25 * 60_000)} from unnest(array['ana', 'ben', 'chiara', 'dana', 'eli']) as name`;
};

/**
 * For tests of pages: everything that somebody else wrote is HTML, far too long, from right to
 * left, or nothing but signs.
 */

const markup = `"><img src=x onerror="window.harm=1"><script data-harm>window.harm=1</script>'`;

const bad = [
  markup,
  `${markup}${'wide'.repeat(490)}`.slice(0, 2_000),
  'מחיר הקופה \u202e txt.exe \u2066 السلة',
  '👩‍👩‍👧‍👦🏴‍☠️'.repeat(30),
  'two words '.repeat(200).trim(),
  '</title></textarea></script><h1 data-harm>',
];
const badOf = (index: number): string => bad[index % bad.length] ?? markup;

/**
 * Each monitor has one of them and the longest word: which page shows which monitor, chance
 * decides.
 */
const worstOf = (index: number): string => `${badOf(index)}${badOf(1)}`;

/**
 * Names of one organisation's monitors, groups and people; their targets; what targets answered.
 */
export const spoilNames = async (
  sql: Sql,
  { organisation, owner }: TestOrganisation,
): Promise<void> => {
  const monitors = await sql<
    { id: string }[]
  >`select id from monitors where organisation_id = ${organisation} order by id`;
  const groups = await sql<
    { id: string }[]
  >`select id from groups where organisation_id = ${organisation} order by id`;
  await sql`update monitors m set name = s.name, target = case m.type when 'heartbeat' then m.target else s.target end
    from unnest(${monitors.map(({ id }) => id)}::uuid[], ${monitors.map((_, index) => worstOf(index))}::text[],
      ${monitors.map((_, index) => `https://shop.example/${worstOf(index + 1)}`)}::text[]) s (id, name, target) where m.id = s.id`;
  await sql`update groups g set name = s.name, name_folded = s.name
    from unnest(${groups.map(({ id }) => id)}::uuid[], ${groups.map((_, index) => `${index}${worstOf(index)}`)}::text[]) s (id, name) where g.id = s.id`;
  await sql`update incident_evidence set evidence = jsonb_build_object('status', 503, 'body', ${bad.join('\n')}::text, 'address', '203.0.113.10')
    where incident_id in (select id from incidents where organisation_id = ${organisation})`;
  const channels = await sql<
    { id: string }[]
  >`select id from channels where organisation_id = ${organisation} order by id`;
  await sql`update channels c set name = s.name, failure = s.name, config = jsonb_build_object('url', s.name, 'address', s.name, 'topic', s.name)
    from unnest(${channels.map(({ id }) => id)}::uuid[], ${channels.map((_, index) => badOf(index))}::text[]) s (id, name) where c.id = s.id`;
  await sql`update deliveries set told = jsonb_set(jsonb_set(told, '{sentence}', to_jsonb(${badOf(1)}::text)), '{monitors,0,name}', to_jsonb(${badOf(3)}::text))
    where organisation_id = ${organisation}`;
  await sql`update users set name = ${badOf(0)} where id = ${owner.user}`;
  await sql`update audit_log set changed = jsonb_build_object('about', '{}'::jsonb, 'before', jsonb_build_object('name', ${badOf(0)}::text), 'after', jsonb_build_object('name', ${badOf(1)}::text)), token_name = ${badOf(1)}, who = ${badOf(3)}
    where organisation_id = ${organisation}`;
  await sql`update tokens set name = ${badOf(1)} where organisation_id = ${organisation}`;
  await sql`update passkeys set name = ${badOf(1)}`;
  await sql`update organisations set name = ${badOf(1)} where id = ${organisation}`;
  await sql`update beats set body = ${bad.join('\n')} where monitor_id = any(${monitors.map(({ id }) => id)})`;
};
