import { isId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { isViolationOf, type Queryable } from '../../database/connect.ts';
import { countOf } from '../../database/sql.ts';
import type { Role } from '../../gate/caller.ts';
import type { Standing } from '../model.ts';
import { noPassword } from '../queries.ts';
import { isActive, type Kind, textOf, type Values } from './attributes.ts';
import type { Condition, Equals } from './filter.ts';

/** A provider, and the organisation that it provisions. */
export type Scope = { readonly id: string; readonly organisation: string };

export type Row = {
  readonly id: string;
  readonly said: Values;
  /** Of a group its members, of a user their groups. */
  readonly beside: readonly { readonly value: string; readonly display?: string }[];
  readonly created_at: number;
  readonly changed_at: number;
};

type Part = {
  readonly conditions: readonly Condition[];
  readonly skip: number;
  readonly limit: number;
  /** Whether to read what is beside. */
  readonly whole: boolean;
};

/** A part of a list, oldest first, with the length of the whole: one statement. */
export async function provisionedPage(
  sql: Queryable,
  kind: Kind,
  scope: Scope,
  { conditions, skip, limit, whole }: Part,
): Promise<{ readonly total: number; readonly rows: readonly Row[] }> {
  const beside = whole ? besideOf(sql, kind, scope) : sql`'[]'::json`;
  const [read] = await sql<{ total: number; rows: Row[] }[]>`
    with found as (select x.* from ${tableOf(sql, kind)} x
      where x.organisation_id = ${scope.organisation} and x.provider_id = ${scope.id}
        ${all(sql, conditions, holds)})
    select (select count(*) from found)::int as total,
      (select coalesce(json_agg(json_build_object('id', x.id, 'said', x.said, 'beside', ${beside},
          'created_at', floor(extract(epoch from x.created_at) * 1000),
          'changed_at', floor(extract(epoch from x.changed_at) * 1000)) order by x.key),
          '[]'::json)
        from (select * from found order by key offset ${skip} limit ${limit}) x) as rows`;
  return read ?? { total: 0, rows: [] };
}

type Fragment = ReturnType<typeof tableOf>;

function all<Each>(
  sql: Queryable,
  each: readonly Each[],
  holding: (sql: Queryable, one: Each) => Fragment,
): Fragment {
  return each.reduce((so, one) => sql`${so} and ${holding(sql, one)}`, sql``);
}

function tableOf(sql: Queryable, kind: Kind) {
  return kind === 'User' ? sql`scim_users` : sql`scim_groups`;
}

function besideOf(sql: Queryable, kind: Kind, { id, organisation }: Scope) {
  return kind === 'User'
    ? sql`(select coalesce(json_agg(json_build_object('value', g.id,
          'display', g.said ->> 'displayName') order by g.key), '[]'::json) from scim_groups g
        where g.organisation_id = ${organisation} and g.provider_id = ${id}
          and g.id = any(x.groups))`
    : sql`(select coalesce(json_agg(json_build_object('value', u.id) order by u.key), '[]'::json)
        from scim_users u
        where u.organisation_id = ${organisation} and u.provider_id = ${id}
          and u.groups @> array[x.id])`;
}

function holds(sql: Queryable, { attribute, tests: [first, ...more] }: Condition) {
  const { name } = attribute;
  if (first === undefined) return sql`true`;
  if (name === 'id') return sql`x.id::text = ${String(first.value)}`;
  if (name === 'members')
    return sql`exists (select from scim_users u where u.organisation_id = x.organisation_id
      and u.provider_id = x.provider_id and u.id::text = ${String(first.value)}
      and u.groups @> array[x.id])`;
  if (attribute.many)
    return sql`exists (select from jsonb_array_elements(x.said -> ${name}) e
      where ${isEqual(sql, sql`e`, attribute, first)}
        ${all(sql, more, (_, test) => isEqual(sql, sql`e`, attribute, test))})`;
  return isEqual(
    sql,
    first.part === undefined ? sql`x.said` : sql`x.said -> ${name}`,
    attribute,
    first,
  );
}

function isEqual(
  sql: Queryable,
  within: Fragment,
  attribute: Condition['attribute'],
  { part = attribute, value }: Equals,
) {
  return part.exact
    ? sql`${within} ->> ${part.name} = ${String(value)}`
    : sql`lower(${within} ->> ${part.name}) = lower(${String(value)})`;
}

export async function provisionedRow(
  sql: Queryable,
  kind: Kind,
  scope: Scope,
  id: string,
): Promise<Row | undefined> {
  if (!isId(id)) return undefined;
  const [attribute, part] = [{ name: 'id', type: 'string' } as const, undefined];
  const conditions = [{ attribute, tests: [{ part, value: id }] }];
  const { rows } = await provisionedPage(sql, kind, scope, {
    ...{ conditions, skip: 0, limit: 1, whole: true },
  });
  return rows[0];
}

type Written = { readonly id: string; readonly said: Values; readonly at: number };

/** @throws Refusal `scim_taken`. */
export async function insertProvisioned(
  sql: Queryable,
  kind: Kind,
  scope: Scope,
  { id, said, at }: Written,
): Promise<void> {
  await refusingTaken(
    sql`insert into ${tableOf(sql, kind)} (id, organisation_id, provider_id, said, created_at,
        changed_at)
      values (${id}, ${scope.organisation}, ${scope.id}, ${JSON.stringify(said)}::text::jsonb,
        ${new Date(at)}, ${new Date(at)})`,
  );
}

/** @throws Refusal `scim_taken`. */
export async function writeProvisioned(
  sql: Queryable,
  kind: Kind,
  scope: Scope,
  { id, said, at }: Written,
): Promise<void> {
  await refusingTaken(
    sql`update ${tableOf(sql, kind)} set said = ${JSON.stringify(said)}::text::jsonb,
        changed_at = ${new Date(at)}
      where organisation_id = ${scope.organisation} and provider_id = ${scope.id} and id = ${id}`,
  );
}

async function refusingTaken(writing: PromiseLike<unknown>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (isViolationOf(error, 'scim_users_name'))
      throw new Refusal('scim_taken', 'There is a user of this userName already.');
    if (isViolationOf(error, 'scim_groups_name'))
      throw new Refusal('scim_taken', 'There is a group of this displayName already.');
    if (isViolationOf(error, 'scim_users_provider_id_user_id_key'))
      throw new Refusal('scim_taken', 'There is a user of this e-mail address already.');
    throw error;
  }
}

export async function deleteProvisioned(
  sql: Queryable,
  kind: Kind,
  scope: Scope,
  id: string,
): Promise<void> {
  await sql`delete from ${tableOf(sql, kind)}
    where organisation_id = ${scope.organisation} and provider_id = ${scope.id} and id = ${id}`;
}

export async function countProvisioned(sql: Queryable, kind: Kind, scope: Scope): Promise<number> {
  return countOf(sql`select count(*) from ${tableOf(sql, kind)}
    where organisation_id = ${scope.organisation} and provider_id = ${scope.id}`);
}

type SoFar = {
  readonly people: number;
  readonly groups: number;
  readonly changed_at: number | null;
};

/** What a provider provisions by now, and when it last changed something. */
export async function provisionedSoFar(sql: Queryable, scope: Scope): Promise<SoFar> {
  const [row] = await sql<SoFar[]>`
    with all_of_it as (
      select true as is_user, changed_at from scim_users
        where organisation_id = ${scope.organisation} and provider_id = ${scope.id}
      union all select false, changed_at from scim_groups
        where organisation_id = ${scope.organisation} and provider_id = ${scope.id})
    select (count(*) filter (where is_user))::int as people,
      (count(*) filter (where not is_user))::int as groups, max(changed_at) as changed_at
    from all_of_it`;
  return row ?? { people: 0, groups: 0, changed_at: null };
}

/** Returns whom it changed. */
export async function writeMembers(
  sql: Queryable,
  scope: Scope,
  group: string,
  { added, removed }: { readonly added: readonly string[]; readonly removed: readonly string[] },
): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`
    update scim_users set groups = case when id = any(${removed}::uuid[])
        then array_remove(groups, ${group}::uuid) else groups || ${group}::uuid end
    where organisation_id = ${scope.organisation} and provider_id = ${scope.id}
      and (id = any(${removed}::uuid[]) or id = any(${added}::uuid[]))
    returning id`;
  return rows.map(({ id }) => id);
}

/** @throws Refusal `scim_taken`. */
export async function writeAccounts(
  sql: Queryable,
  { id, organisation }: Scope,
  ...links: readonly { readonly person: string; readonly user: string }[]
): Promise<void> {
  await refusingTaken(sql`update scim_users s set user_id = l."user"
    from json_to_recordset(${JSON.stringify(links)}::text::json) as l (person uuid, "user" uuid)
    where s.organisation_id = ${organisation} and s.provider_id = ${id} and s.id = l.person`);
}

/** Remembers whose account it was that a provider removed somebody from. */
export async function writeLeaver(
  sql: Queryable,
  { id }: Pick<Scope, 'id'>,
  { person, user, said }: { readonly person: string; readonly user: string; readonly said: Values },
): Promise<void> {
  await sql`insert into scim_leavers (provider_id, user_id, person_id, external_id)
    values (${id}, ${user}, ${person}, ${textOf(said, 'externalId') ?? null})
    on conflict (provider_id, user_id) do update
      set person_id = excluded.person_id, external_id = excluded.external_id`;
}

/** Whether a provider removed whoever has an account, and did not let them in again. */
export async function isRemoved(
  sql: Queryable,
  { id }: Pick<Scope, 'id'>,
  user: string,
): Promise<boolean> {
  const { count } = await sql`select from scim_leavers l
    where l.provider_id = ${id} and l.user_id = ${user} and not exists (select from scim_users s
      where s.provider_id = ${id} and s.user_id = ${user} and s.said ->> 'active' is distinct from 'false')`;
  return count > 0;
}

export type Stands = Standing & {
  readonly id: string;
  readonly user: string | undefined;
  readonly said: Values;
  /** The role now. */
  readonly role: Role | undefined;
};

/** Of these, or of one account's, or of all. */
export async function standings(
  sql: Queryable,
  { id, organisation }: Scope,
  only:
    | { readonly ids: readonly string[] }
    | { readonly user: string }
    | { readonly subject: string; readonly email: string }
    | 'all',
): Promise<readonly Stands[]> {
  const among =
    only === 'all'
      ? sql``
      : 'user' in only
        ? sql`and u.user_id = ${only.user}`
        : 'ids' in only
          ? sql`and u.id = any(${only.ids}::uuid[])`
          : sql`and (u.said ->> 'externalId' = ${only.subject}
              or lower(u.said ->> 'userName') = lower(${only.email})
              or exists (select from jsonb_array_elements(u.said -> 'emails') e
                where lower(e ->> 'value') = lower(${only.email})))`;
  const rows = await sql<
    { id: string; user_id: string | null; said: Values; role: Role | null; groups: string[] }[]
  >`
    select u.id, u.user_id, u.said, m.role,
      (select coalesce(json_agg(n.name), '[]'::json) from scim_groups g
        cross join lateral (values (g.said ->> 'displayName'), (g.said ->> 'externalId')) n (name)
        where g.organisation_id = ${organisation} and g.provider_id = ${id}
          and g.id = any(u.groups) and n.name is not null) as groups
    from scim_users u left join memberships m
      on m.organisation_id = u.organisation_id and m.user_id = u.user_id
    where u.organisation_id = ${organisation} and u.provider_id = ${id} ${among} order by u.key`;
  return rows.map(({ user_id, role, ...row }) => ({
    ...row,
    active: isActive(row.said),
    user: user_id ?? undefined,
    role: role ?? undefined,
  }));
}

/** An e-mail address, and the account that has it. */
export type Address = {
  readonly asked: string;
  /** The same for all spellings. */
  readonly address: string;
  readonly account: Account | null;
};

export type Account = {
  readonly id: string;
  readonly is_proven: boolean;
  readonly is_entered: boolean;
  readonly role: Role | null;
  /** Whether somebody whom the provider names has it. */
  readonly is_taken: boolean;
  /** Who came in by it, as the provider calls them at a sign-in. */
  readonly subject: string | null;
  /** Who had it when the provider removed them. */
  readonly left: { readonly person_id: string; readonly external_id: string | null } | null;
};

export function addressesOf(
  sql: Queryable,
  { id, organisation }: Scope,
  emails: readonly string[],
): Promise<Address[]> {
  return sql<Address[]>`
    select a.asked, lower(a.asked) as address, case when u.id is not null then json_build_object(
        'id', u.id, 'is_proven', u.email_verified_at is not null, 'is_entered', ${isEntered(sql)},
        'role', m.role, 'subject', i.subject, 'left', to_json(l), 'is_taken', exists (
          select from scim_users s where s.provider_id = ${id} and s.user_id = u.id)) end as account
    from unnest(${emails}::text[]) a (asked) left join users u on lower(u.email) = lower(a.asked)
    left join memberships m on m.organisation_id = ${organisation} and m.user_id = u.id
    left join identities i on i.provider_id = ${id} and i.user_id = u.id
    left join scim_leavers l on l.provider_id = ${id} and l.user_id = u.id`;
}

/** Whether there is a way into account `u`: a password, a passkey, a provider. */
function isEntered(sql: Queryable) {
  return sql`(u.password_hash <> ${noPassword}
    or exists (select from passkeys where user_id = u.id)
    or exists (select from identities where user_id = u.id))`;
}

/** Whether a provider had this account made, or given a role, and nobody has come in by it yet. */
export async function awaitsProvider(
  sql: Queryable,
  { id }: { readonly id: string },
  user: string,
): Promise<boolean> {
  const { count } = await sql`select from users u where u.id = ${user} and not ${isEntered(sql)}
    and exists (select from scim_users s where s.provider_id = ${id} and s.user_id = u.id)`;
  return count > 0;
}

/** Whether nobody has come in by an account, and it is a member of nothing else. */
export async function isUntouched(
  sql: Queryable,
  { organisation }: Scope,
  user: string,
): Promise<boolean> {
  const { count } = await sql`select from users u where u.id = ${user} and not ${isEntered(sql)}
    and u.email_verified_at is null and not u.is_operator and not exists (
      select from memberships m where m.user_id = u.id and m.organisation_id <> ${organisation})`;
  return count > 0;
}

/** Sets or ends the token of an organisation's provider. */
export async function writeScimToken(
  sql: Queryable,
  organisation: string,
  token: { readonly fingerprint: Buffer; readonly at: number } | null,
): Promise<void> {
  await sql`update sign_in_providers set scim_fingerprint = ${token?.fingerprint ?? null},
      scim_since = ${token === null ? null : new Date(token.at)}
    where organisation_id = ${organisation}`;
}

/** Whose provider a token is of. */
export async function organisationOfToken(
  sql: Queryable,
  fingerprint: Buffer,
): Promise<string | undefined> {
  const [row] = await sql<{ organisation_id: string }[]>`select organisation_id
    from sign_in_providers where scim_fingerprint = ${fingerprint}`;
  return row?.organisation_id;
}
