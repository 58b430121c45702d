/** The status pages of the shop: one for the world, and one that asks for a password. */

import type { Sql } from '../../coordinator/database/connect.ts';
import { hashPassword } from '../../coordinator/people/secrets.ts';
import { newId } from '../../shared/base/crypto.ts';

export type DemoPage = { readonly id: string; readonly slug: string };

const minute = 60_000;

const shown: readonly (readonly [monitor: string, name: string, group: string | null])[] = [
  ['Checkout', 'Checkout', 'Shop'],
  ['Search API', 'Search', 'Shop'],
  ['Payments', 'Payments', 'Shop'],
  ['Login', 'Sign-in', 'Platform'],
  ['CDN', 'Pictures', 'Platform'],
  ['MX shop.example', 'Mail', 'Platform'],
  ['Store Oslo', 'Shop in Oslo', null],
];

export const seedDemoPage = async (
  sql: Sql,
  organisation: string,
  now: number,
  of: { readonly idOf: (monitor: string) => string; readonly groupOf: (name: string) => string; readonly incident: string },
): Promise<DemoPage> => {
  const [id, inner] = [newId(), newId()];
  const pages = [
    { id, organisation_id: organisation, name: 'Shop status', slug: 'shop', accent: '#0a7d55', access: 'public', password_hash: null },
    {
      id: inner,
      organisation_id: organisation,
      name: 'Inner works',
      slug: 'inner',
      accent: null,
      access: 'password',
      password_hash: await hashPassword('open sesame'),
    },
  ];
  await sql`insert into status_pages ${sql(pages)}`;
  const groups = ['Shop', 'Platform'].map((name, position) => ({ page_id: id, group_id: of.groupOf(name), display_name: name, position }));
  await sql`insert into status_page_groups ${sql(groups)}`;
  const rows = shown.map(([monitor, display_name, group], position) => ({
    ...{ page_id: id, monitor_id: of.idOf(monitor), display_name, position },
    group_id: group === null ? null : of.groupOf(group),
  }));
  await sql`insert into status_page_monitors ${sql(rows)}`;
  const posts = [
    ['investigating', 'Paying fails for some of you. We are looking into it.', 5],
    ['identified', 'A change of this afternoon is the cause. It is being taken back.', 2],
  ] as const;
  for (const [kind, text, ago] of posts)
    await sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_at, told_at)
      values (${newId()}, ${id}, ${organisation}, ${of.incident}, ${kind}, ${text}, ${new Date(now - ago * minute)}, ${new Date(now)})`;
  return { id, slug: 'shop' };
};
