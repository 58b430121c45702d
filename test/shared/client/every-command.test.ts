import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertMembers, insertUsers } from '../../../coordinator/people/queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { commandName } from '../../../shared/base/env.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { type Command, commands } from '../../../shared/client/commands.ts';
import { exits } from '../../../shared/client/http.ts';
import { widthOf } from '../../../shared/client/terminal.ts';
import { openServed, type Served } from '../../support/api.ts';
import { makeCause } from '../../support/causes.ts';
import { createCommand } from '../../support/cli.ts';
import { createTestOrganisation } from '../../support/people.ts';

/**
 * Each command that there is, against the real service, where everything is called what programs
 * find hard: the widths of a terminal hold, and who reads it finds the names.
 */

/** At most 24 columns each: so much of a name stays readable on any terminal. */
const names = [
  '👨‍👩‍👧‍👦 Family site',
  '🏴󠁧󠁢󠁥󠁮󠁧󠁿 England ❤️',
  'می‌خواهم فروشگاه',
  'חנות ראשית',
  '日本の店',
  'Cafe\u0301 🧑🏽‍🚒',
];
const widths = [60, 80, 200];

let served: Served;
beforeAll(async () => {
  served = await openServed();
});
afterAll(() => served.close());

type Things = Readonly<Record<string, string | undefined>>;

/** One of each thing, with its id by the word that a command's place for it has. */
const furnish = async (): Promise<{
  things: Things;
  command: ReturnType<typeof createCommand>;
}> => {
  const { sql } = served.api;
  const house = await createTestOrganisation(sql, { name: names[0] ?? '' });
  const command = createCommand({ url: served.url, token: house.owner.readWrite });
  const made = async (...line: string[]): Promise<string> =>
    String((await command.json(...line)).id);
  const [a = '', b = '', c = '', d = ''] = names;
  const group_id = await made('groups', 'create', '--name', b, '--description', c);
  const objective_id = await made('objectives', 'create', '--name', b, '--target', '99.9');
  const monitors: string[] = [];
  for (const name of names) {
    const target = [
      '--type',
      'https',
      '--target',
      'https://shop.example/a/path/that/goes/on?and=has&a=query',
    ];
    monitors.push(
      await made(
        'monitors',
        'create',
        ...target,
        '--name',
        name,
        '--group',
        group_id,
        '--tag',
        '日本',
      ),
    );
  }
  const [monitor_id = ''] = monitors;
  const window = [
    '--starts-at',
    '+1h',
    '--for',
    '2h',
    '--name',
    c,
    '--rrule',
    'FREQ=WEEKLY',
    '--monitor',
    monitor_id,
  ];
  const window_id = await made('maintenance', 'create', ...window);
  const now = ['--starts-at', 'now', '--for', '1h', '--monitor', monitor_id];
  const running_id = await made('maintenance', 'create', ...now);
  const slug = `page-${newId().slice(-12)}`;
  const page_id = await made(
    'status-pages',
    'create',
    '--name',
    d,
    '--slug',
    slug,
    '--description',
    a,
  );
  await command.json(
    'status-pages',
    'update',
    page_id,
    '--access',
    'link',
    '--domain',
    `${slug}.example.org`,
  );
  await command.json(
    'status-pages',
    'add-group',
    page_id,
    '--group',
    group_id,
    '--display-name',
    a,
    '--no-monitors',
  );
  await command.json(
    'status-pages',
    'add-monitor',
    page_id,
    '--monitor',
    monitor_id,
    '--display-name',
    b,
  );
  const empty_page_id = await made(
    'status-pages',
    'create',
    '--name',
    c,
    '--slug',
    `${slug}-empty`,
  );
  const hook = ['--kind', 'webhook', '--config', '{"url":"http://127.0.0.1:9/hook"}'];
  const channel_id = await made('channels', 'create', ...hook, '--try', 'false', '--name', b);
  const webhook_id = await made('webhooks', 'create', '--url', 'http://hooks.example.org/');
  const delivery_id = newId();
  await sql`insert into deliveries (id, organisation_id, webhook_id, event_key, event_id, event, created_at, next_at)
    values (${delivery_id}, ${house.organisation}, ${webhook_id}, 1, ${newId()}, 'deploy', now(), now())`;
  const probe_invitation_id = await made(
    'probes',
    'invite',
    '--name',
    `${c} 1`,
    '--continent',
    'North America',
  );
  const ping_key_id = await made('ping-keys', 'create', '--name', a);
  const probe_id = newId();
  await sql`insert into probes (id, name, continent, organisation_id) values (${probe_id}, ${`${d} 1`}, 'North America', ${house.organisation})`;
  const incident_id = newId();
  const cause = JSON.stringify({
    class: 'unexpected_status',
    params: { status: 503, expected: '200-299' },
  });
  const at = new Date(Date.now() - 3_600_000);
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, cause, scope, layer, seen_probe, seen_continent,
      confirmed_probe, confirmed_continent)
    values (${incident_id}, ${house.organisation}, ${monitor_id}, ${at}, ${at}, ${cause}::text::jsonb, 'everywhere', 'http', ${c}, 'Europe', ${d},
      'North America')`;
  for (const [part, continent, probe] of [
    ['seen', 'Europe', c],
    ['confirmed', 'North America', d],
  ] as const)
    await sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms, cause, evidence)
      values (${incident_id}, ${part}, ${continent}, ${probe}, ${at}, 1, 120, ${cause}::text::jsonb, ${JSON.stringify({ body: a })}::text::jsonb)`;
  const post = ['--kind', 'investigating', '--text', `${a} ${c}`];
  const post_id = await made('status-pages', 'create-post', page_id, incident_id, ...post);
  const report_id = await made('status-pages', 'create-report', page_id, '--title', a, ...post);
  const subscriber_id = newId();
  await sql`insert into status_page_subscribers (id, page_id, email, language, asked_at)
    values (${subscriber_id}, ${page_id}, 'ada@reader.example', 'en', now())`;
  const [member_id, invitation_id] = [newId(), newId()];
  await insertUsers(sql, { id: member_id, email: `${member_id}@a.example`, password_hash: 'none' });
  await insertMembers(sql, house.organisation, { user: member_id, role: 'viewer' });
  await sql`insert into invitations (id, organisation_id, email, role, created_at, expires_at)
    values (${invitation_id}, ${house.organisation}, 'ada@b.example', 'viewer', now(), now() + interval '1 week')`;
  const token_id = newId();
  await sql`insert into tokens (id, organisation_id, user_id, name, scope, fingerprint, shown)
    values (${token_id}, ${house.organisation}, ${house.owner.user}, ${a}, 'read', ${Buffer.from(token_id)}, 'svc_0000')`;
  const share_id = await made('reports', 'share');
  await sql`update users set email_verified_at = now() where id = ${house.owner.user}`;
  const mail_id = await made('reports', 'mail', '--every', 'week', '--group', group_id);
  const target = ['--target', 'https://a.example/'];
  const test_id = await made('tests', 'create', '--type', 'https', ...target);
  const job_id = await made('monitors', 'create', '--type', 'heartbeat', '--name', `${b} job`);
  const things = {
    test_id,
    job_id,
    monitor_id,
    group_id,
    objective_id,
    window_id,
    running_id,
    page_id,
    empty_page_id,
    channel_id,
    webhook_id,
    delivery_id,
    incident_id,
    cause_id: await makeCause(sql, house.organisation, incident_id),
    post_id,
    report_id,
    subscriber_id,
    token_id,
    member_id,
    invitation_id,
    share_id,
    mail_id,
    probe_id,
    place_id: probe_id,
    probe_invitation_id,
    ping_key_id,
    email: house.owner.email,
  };
  return { things, command };
};

/** What a flag that a command must have is given, and every name that it may have. */
const sayingOf = (
  { operation }: Command,
  key: string,
  things: Things,
  called: string,
): string | undefined => {
  const values: Record<string, string | undefined> = {
    name: called,
    display_name: called,
    description: called,
    url: 'http://hooks.example.org/',
    type: 'https',
    starts_at: '+1d',
    ends_at: '+2d',
    continent: 'Europe',
    slug: `s-${newId().slice(-12)}`,
    monitor: things.monitor_id,
    group: things.group_id,
    every: 'month',
    kind: operation.id === 'createChannel' ? 'webhook' : 'monitoring',
    config: '{"url":"http://127.0.0.1:9/"}',
    items: JSON.stringify([{ type: 'https', target: 'https://a.example/', name: called }]),
    rows: operation.id === 'orderStatusPage' ? things.group_id : undefined,
    title: called,
    text: called,
    monitors: things.monitor_id,
    email: operation.id === 'inviteMember' ? `${newId()}@example.org` : things.email,
    role: 'viewer',
    minutes: '60',
    target: operation.id === 'createObjective' ? '99.9' : undefined,
  };
  return values[key];
};

/** The words of a call that says all that the command must be told. */
const lineOf = (command: Command, things: Things, called: string): string[] => {
  const known = (what: string, value: string | undefined): string =>
    value ??
    expect.fail(`${commandName(command)} asks for ${what}: this test must learn what to say`);
  const isNamed = (key: string): boolean =>
    command.operation.method !== 'GET' &&
    (['name', 'display_name'].includes(key) ||
      (key === 'monitors' && command.operation.id === 'createMaintenanceWindow'));
  const flags = command.flags.filter(({ key, required }) => required || isNamed(key));
  // A thing is published once on a page.
  const { id } = command.operation;
  const at: Things = {
    ...things,
    ...(/^add(?!.*Update)/.test(id) && { page_id: things.empty_page_id }),
    ...(id === 'getMonitorPings' && { monitor_id: things.job_id }),
    file: 'shop',
    ...(id === 'endMaintenanceNow' && { window_id: things.running_id }),
  };
  return [
    ...command.words,
    ...command.positionals.map(({ name }) => known(name, at[name])),
    ...flags.flatMap(({ name: flag, key }) => [
      `--${flag}`,
      known(`--${flag}`, sayingOf(command, key, things, called)),
    ]),
    // Every row of the page stands in its order once.
    ...(command.operation.id === 'orderStatusPage'
      ? ['--row', known('a second row', things.monitor_id)]
      : []),
    ...(command.operation.id === 'createChannel' ? ['--try', 'false'] : []),
    ...(command.operation.id === 'replayWebhook' ? ['--since', '-1d'] : []),
    ...(command.operation.id === 'inviteProbe' ? ['--continent', 'Europe'] : []),
    ...(/^create(Monitor|Test)$/.test(command.operation.id)
      ? ['--target', 'https://a.example/']
      : []),
  ];
};

/** Names that an answer shows to people: its own, and those of what it lists. */
const namesIn = (answer: unknown): string[] => {
  const items = isRecord(answer) && Array.isArray(answer.items) ? answer.items : [answer];
  const told = items
    .filter(isRecord)
    .flatMap(({ name, monitor_name, display_name }) => [name, monitor_name, display_name]);
  return told.filter((name) => typeof name === 'string');
};

/** Reading first, what takes something away last (a part before the whole), then what restores. */
const rank = ({ operation: { id, method }, positionals }: Command): number =>
  id === 'restoreMonitor'
    ? 10
    : method === 'GET'
      ? 0
      : /^(withdraw|endMaintenance)/.test(id)
        ? 2
        : /^(delete|remove|revoke|end)/.test(id)
          ? 9 - positionals.length
          : 1;
const inOrder = commands.toSorted((one, other) => rank(one) - rank(other));

/** A word behind the title of its line stays whole, however long, so that it can be copied. */
const isOneWord = (row: string): boolean => /^ *\S+( \S+)* {2,}\S+$/.test(row);

test.each(widths)(
  'at %i columns every command keeps to its lines, and names stay readable',
  async (columns) => {
    const { things, command } = await furnish();
    const wrong: string[] = [];
    for (const [index, one] of inOrder.entries()) {
      const name = names[index % names.length] ?? '';
      const line = lineOf(one, things, name);
      // Before: events become certain one after another, so a later answer may name more.
      const read = one.operation.method === 'GET' ? namesIn(await command.json(...line)) : [];
      const { code, out, err } = await command.run([...line, '--yes'], { terminal: true, columns });
      const said = commandName(one);
      if (process.env.TEST_LOG) process.stdout.write(`$ antipode ${line.join(' ')}\n${out}${err}`);
      if (code !== exits.done) wrong.push(`${said} ended with ${code}: ${err}`);
      const text = stripVTControlCharacters(out);
      const tooWide = text.split('\n').filter((row) => widthOf(row) > columns && !isOneWord(row));
      if (tooWide.length > 0) wrong.push(`${said} is wider than ${columns}: ${tooWide.join('\n')}`);
      const told =
        one.operation.method === 'GET'
          ? read
          : line.includes(name) && out !== 'Done.\n'
            ? [name]
            : [];
      for (const lost of new Set(told))
        if (!text.includes(lost)) wrong.push(`${said} does not show ${lost}: ${text}`);
    }
    expect(wrong).toEqual([]);
  },
);
