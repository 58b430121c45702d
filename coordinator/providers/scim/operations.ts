import { isId, newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { handle } from '../../gate/bind.ts';
import { type InOrganisation, notFound, orNotFound } from '../../gate/context.ts';
import { newTokenText, shownPart } from '../../tokens/authenticate.ts';
import { providersOf } from '../lookup.ts';
import { isServing, type Serving } from '../membership.ts';
import { providerOf } from '../queries.ts';
import {
  isActive,
  itemsOf,
  type Kind,
  refuseOutside,
  textOf,
  type Values,
  valuesFrom,
} from './attributes.ts';
import * as contract from './contract.ts';
import { conditionsFrom } from './filter.ts';
import { patched } from './patch.ts';
import { endPerson, renameAccount, settle } from './provisioning.ts';
import {
  countProvisioned,
  deleteProvisioned,
  insertProvisioned,
  provisionedPage,
  provisionedRow,
  type Row,
  standings,
  writeMembers,
  writeProvisioned,
  writeScimToken,
} from './queries.ts';

/** Nobody but the provider itself, by its token. @throws Refusal `provider_not_found`. */
async function ownProvider(
  context: Pick<InOrganisation, 'sql' | 'with' | 'caller' | 'organisation'>,
): Promise<Serving> {
  const { token } = context.caller;
  const found = token && (await providersOf(context, [token.id])).get(token.id);
  if (
    found?.isProvisioned === true &&
    isServing(found) &&
    found.organisation === context.organisation.id
  )
    return found;
  throw notFound('provider_not_found');
}

export const readProvisioned = handle(contract.readProvisioned)(
  async (context, { kind, filter, ...part }) => {
    const provider = await ownProvider(context);
    const conditions = filter === null ? [] : conditionsFrom(kind, filter);
    return provisionedPage(context.sql, kind, provider, { conditions, ...part });
  },
);

type Change = {
  readonly act: 'create' | 'replace' | 'patch' | 'remove';
  readonly id: string | null;
  readonly said: Values;
};

const most = { User: 10_000, Group: 1_000 } as const satisfies Record<Kind, number>;

/** What there is, and what it says next; undefined: nothing. */
async function changeOf(
  { sql }: InOrganisation,
  provider: Serving,
  kind: Kind,
  { act, id, said }: Change,
): Promise<{ readonly id: string; readonly before?: Row; readonly after?: Values }> {
  if (act === 'create') {
    if ((await countProvisioned(sql, kind, provider)) >= most[kind])
      throw new Refusal('scim_full', `There are ${most[kind]} already, which is the most.`);
    return { id: newId(), after: valuesFrom(kind, said) };
  }
  const before = orNotFound(
    await provisionedRow(sql, kind, provider, id ?? ''),
    kind === 'User' ? 'member_not_found' : 'group_not_found',
  );
  if (act === 'remove') return { id: before.id, before };
  const known = kind === 'User' ? before.said : { ...before.said, members: before.beside };
  return {
    id: before.id,
    before,
    after: act === 'patch' ? patched(kind, known, said) : valuesFrom(kind, said),
  };
}

export const provisionUser = handle(contract.provisionUser)(async (context, input) => {
  const { sql, now, note } = context;
  const provider = await ownProvider(context);
  const { id, before, after } = await changeOf(context, provider, 'User', input);
  note({
    ...(before && { before: told(before.said) }),
    ...(after && { after: told(after) }),
  });
  const written = after ?? { ...before?.said, active: false };
  // Whoever is turned off gets nothing, wherever their address is by now.
  if (after !== undefined && isActive(after)) refuseOutside(after, provider.domain);
  const write = before === undefined ? insertProvisioned : writeProvisioned;
  await write(sql, 'User', provider, { id, said: written, at: now });
  const [standing] = await standings(sql, provider, { ids: [id] });
  const wasIn =
    after === undefined ||
    before === undefined ||
    isActive(before.said) ||
    standing?.role !== undefined;
  if (standing !== undefined && wasIn && !isActive(written))
    await endPerson(context, provider, { ...standing, said: before?.said ?? written });
  if (after === undefined) {
    await deleteProvisioned(sql, 'User', provider, id);
    return { row: null };
  }
  if (standing?.user !== undefined)
    await renameAccount(sql, provider, { user: standing.user, said: after });
  await settle(context, provider, { ids: [id] });
  return { row: (await provisionedRow(sql, 'User', provider, id)) ?? null };
});

function told(said: Values) {
  return { user: textOf(said, 'userName'), active: isActive(said) };
}

export const provisionGroup = handle(contract.provisionGroup)(async (context, input) => {
  const { sql, now, note } = context;
  const provider = await ownProvider(context);
  const { id, before, after } = await changeOf(context, provider, 'Group', input);
  const { members: _, ...said } = after ?? {};
  const had = new Set(before?.beside.map(({ value }) => value));
  const has = idsOf(after);
  const added = [...has.difference(had)];
  const removed = [...had.difference(has)];
  if (!added.every(isId)) throw unknownMember();
  note({
    ...(before && {
      before: { name: textOf(before.said, 'displayName'), members: had.size },
    }),
    ...(after && { after: { name: textOf(after, 'displayName'), members: has.size } }),
  });
  if (before === undefined) await insertProvisioned(sql, 'Group', provider, { id, said, at: now });
  else if (after !== undefined)
    await writeProvisioned(sql, 'Group', provider, { id, said, at: now });
  const changed = await writeMembers(sql, provider, id, { added, removed });
  if (changed.length < added.length + removed.length) throw unknownMember();
  if (after === undefined) await deleteProvisioned(sql, 'Group', provider, id);
  // Another name of the group may give another role to all in it.
  const isRenamed = before !== undefined && namesOf(before.said) !== namesOf(said);
  const left_out = await settle(context, provider, {
    ids: isRenamed ? [...had.union(has)] : changed,
  });
  if (left_out > 0) note({ after: { left_out } });
  // What was patched is not sent back.
  const isShown = input.act === 'create' || input.act === 'replace';
  return { row: (isShown && (await provisionedRow(sql, 'Group', provider, id))) || null };
});

function unknownMember(): Refusal {
  return new Refusal('scim_value_invalid', 'members: there is no user with one of these ids.');
}

function idsOf(values: Values | undefined): ReadonlySet<string> {
  return new Set(itemsOf(values ?? {}, 'members').map(({ value }) => String(value).toLowerCase()));
}

function namesOf({ displayName, externalId }: Values): string {
  return JSON.stringify([displayName, externalId]);
}

export const setScimToken = handle(contract.setScimToken)(
  async ({ sql, organisation, now, note, with: { accountSecrets } }) => {
    const row = await providerOf(sql, organisation.id);
    if (!row?.domain_proved_at) throw missing();
    const token = newTokenText('scim');
    const fingerprint = await accountSecrets.fingerprint('SCIM token', token);
    await writeScimToken(sql, organisation.id, { fingerprint, at: now });
    note({ after: { issuer: row.issuer, begins: shownPart(token) } });
    return { token };
  },
);

function missing(): Refusal {
  return new Refusal(
    'sign_in_provider_missing',
    'The organisation has no sign-in provider with a confirmed domain.',
  );
}

export const endScimToken = handle(contract.endScimToken)(async ({ sql, organisation, note }) => {
  const row = await providerOf(sql, organisation.id);
  if (!row) throw missing();
  await writeScimToken(sql, organisation.id, null);
  note({ before: { issuer: row.issuer } });
  return { ended: row.scim_since !== null };
});
