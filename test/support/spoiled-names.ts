/** For tests of pages: everything that somebody else wrote is HTML, far too long, from right to left, or nothing but signs. */

import type { Sql } from '../../coordinator/database/connect.ts';
import type { TestOrganisation } from './people.ts';

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

/** Each monitor has one of them and the longest word: which page shows which monitor, chance decides. */
const worstOf = (index: number): string => `${badOf(index)}${badOf(1)}`;

/** Names of one organisation's monitors, groups and people; their targets; what targets answered. */
export const spoilNames = async (sql: Sql, { organisation, owner }: TestOrganisation): Promise<void> => {
  const monitors = await sql<{ id: string }[]>`select id from monitors where organisation_id = ${organisation} order by id`;
  const groups = await sql<{ id: string }[]>`select id from groups where organisation_id = ${organisation} order by id`;
  await sql`update monitors m set name = s.name, target = case m.type when 'heartbeat' then m.target else s.target end
    from unnest(${monitors.map(({ id }) => id)}::uuid[], ${monitors.map((_, index) => worstOf(index))}::text[],
      ${monitors.map((_, index) => `https://shop.example/${worstOf(index + 1)}`)}::text[]) s (id, name, target) where m.id = s.id`;
  await sql`update groups g set name = s.name, name_folded = s.name
    from unnest(${groups.map(({ id }) => id)}::uuid[], ${groups.map((_, index) => `${index}${worstOf(index)}`)}::text[]) s (id, name) where g.id = s.id`;
  await sql`update incident_evidence set evidence = jsonb_build_object('status', 503, 'body', ${bad.join('\n')}::text, 'address', '203.0.113.10')
    where incident_id in (select id from incidents where organisation_id = ${organisation})`;
  const channels = await sql<{ id: string }[]>`select id from channels where organisation_id = ${organisation} order by id`;
  await sql`update channels c set name = s.name, failure = s.name, config = jsonb_build_object('url', s.name, 'address', s.name, 'topic', s.name)
    from unnest(${channels.map(({ id }) => id)}::uuid[], ${channels.map((_, index) => badOf(index))}::text[]) s (id, name) where c.id = s.id`;
  await sql`update messages set told = jsonb_set(jsonb_set(told, '{sentence}', to_jsonb(${badOf(1)}::text)), '{monitors,0,name}', to_jsonb(${badOf(3)}::text))
    where organisation_id = ${organisation}`;
  await sql`update users set name = ${badOf(0)} where id = ${owner.user}`;
  await sql`update audit_log set changed = jsonb_build_object('about', '{}'::jsonb, 'before', jsonb_build_object('name', ${badOf(0)}::text), 'after', jsonb_build_object('name', ${badOf(1)}::text)), token_name = ${badOf(1)}, who = ${badOf(3)}
    where organisation_id = ${organisation}`;
  await sql`update tokens set name = ${badOf(1)} where organisation_id = ${organisation}`;
  await sql`update passkeys set name = ${badOf(1)}`;
  await sql`update organisations set name = ${badOf(1)} where id = ${organisation}`;
  await sql`update beats set body = ${bad.join('\n')} where monitor_id = any(${monitors.map(({ id }) => id)})`;
};
