import * as api from '../../shared/api/groups.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { descriptionFrom, nameFrom } from '../../shared/base/names.ts';
import { handle } from '../gate/bind.ts';
import { AlternateStatus, type InOrganisation } from '../gate/context.ts';
import { beforeAll, pageOf } from '../gate/cursors.ts';
import { enforceLimit } from '../gate/plans.ts';
import { externalIdFrom } from '../monitors/model.ts';
import type { Status } from '../monitors/status.ts';
import { warningJson } from '../warnings/model.ts';
import * as contract from './contract.ts';
import { groupStatus } from './model.ts';
import {
  type CoveredInGroup,
  countGroups,
  coveredInGroups,
  type GroupRow,
  groupById,
  groupCalled,
  groupNamed,
  groupPage,
  groupsByName,
  groupUses,
  insertGroups,
  monitorsOutside,
  removeGroup,
  requireGroups,
  updateGroups,
} from './queries.ts';

/** A group with its status by rule 29, and the counts of all its monitors. */
export function groupJson({ members, warnings, ...row }: GroupRow, now: number) {
  const count = (status: string): number =>
    members.reduce((sum, each) => (each.status === status ? sum + each.count : sum), 0);
  return {
    ...row,
    monitors: members.reduce((sum, each) => sum + each.count, 0),
    status: groupStatus(members),
    down: count('down'),
    verifying: count('verifying'),
    up: count('up'),
    pending: count('pending'),
    paused: count('paused'),
    warnings: warnings.map((warning) => warningJson(warning, now)),
  };
}

/** Null: not mentioned. An empty description or external id removes the old one. */
export type GroupPatch = {
  readonly name: string | null;
  readonly description: string | null;
  readonly external_id: string | null;
};

/**
 * Runs under the organisation's lock, so that a name that is free now is free when it is written.
 */
export async function changeGroup(
  { sql, organisation, note, now }: InOrganisation,
  before: GroupRow,
  patch: GroupPatch,
) {
  const { id: of } = organisation;
  const name = patch.name === null ? before.name : nameFrom(patch.name);
  const description =
    patch.description === null ? before.description : descriptionFrom(patch.description);
  const external_id =
    patch.external_id === null ? before.external_id : externalIdFrom(patch.external_id);
  const named = await groupNamed(sql, of, name);
  if (named && named.id !== before.id)
    throw new Refusal('name_taken', {
      name: `there is a group "${name}" already; choose another name.`,
    });
  const called =
    external_id === null || external_id === before.external_id
      ? undefined
      : await groupCalled(sql, of, external_id);
  if (called)
    throw new Refusal('external_id_taken', {
      external_id: `another group is "${external_id}" already; choose another one.`,
    });
  await updateGroups(sql, of, [{ id: before.id, name, description, external_id }]);
  const was = {
    name: before.name,
    description: before.description,
    external_id: before.external_id,
  };
  note({ before: was, after: { name, description, external_id } });
  return groupJson({ ...before, name, description, external_id }, now);
}

/**
 * A repeated call creates one group: the organisation's lock lets the second caller see what the
 * first created.
 */
export const createGroup = handle(api.createGroup)(async (context, input) => {
  const { sql, organisation, now } = context;
  const name = nameFrom(input.name);
  const description = descriptionFrom(input.description);
  const external_id = input.external_id === null ? null : externalIdFrom(input.external_id);
  const called =
    external_id === null ? undefined : await groupCalled(sql, organisation.id, external_id);
  if (called)
    return new AlternateStatus(
      200,
      await changeGroup(context, called, {
        name,
        description: input.description,
        external_id: null,
      }),
    );
  const existing = await groupNamed(sql, organisation.id, name);
  if (existing) {
    // A program that uses an id of its own from now on adopts the group of that name, unless
    // another program has it.
    if (external_id === null) return new AlternateStatus(200, groupJson(existing, now));
    if (existing.external_id !== null)
      throw new Refusal('name_taken', {
        name: `there is a group "${existing.name}" already, which is "${existing.external_id}"; choose another name.`,
      });
    return new AlternateStatus(
      200,
      await changeGroup(context, existing, { name: null, description: null, external_id }),
    );
  }
  enforceLimit('groups', organisation.plan, await countGroups(sql, organisation.id));
  const id = newId();
  await insertGroups(sql, organisation.id, [{ id, name, description, external_id }]);
  return groupJson(await groupById(sql, organisation.id, id), now);
});

/**
 * Its monitors remain, without a group; a window that covered them through it no longer does (rule
 * 26).
 */
export const deleteGroup = handle(api.deleteGroup)(async ({ sql, organisation }, { group_id }) => {
  await requireGroups(sql, organisation.id, [group_id]);
  await removeGroup(sql, organisation.id, group_id);
});

export const getGroup = handle(api.getGroup)(async ({ sql, organisation, now }, { group_id }) =>
  groupJson(await groupById(sql, organisation.id, group_id), now),
);

export const listGroupStatuses = handle(contract.listGroupStatuses)(
  async ({ sql, organisation, now }, { page }) => {
    const [matching, rows, covered] = await Promise.all([
      countGroups(sql, organisation.id),
      groupsByName(sql, organisation.id, (page - 1) * contract.groupRows, contract.groupRows),
      coveredInGroups(sql, organisation.id, now),
    ]);
    return { matching, items: rows.map((row) => standingJson(row, covered, now)) };
  },
);

/** Its counts as pages show statuses: of each count, those that maintenance covers are apart. */
function standingJson(row: GroupRow, covered: readonly CoveredInGroup[], now: number) {
  const group = groupJson(row, now);
  const own = covered.filter((each) => each.group === row.id);
  const among = (status: Status): number => own.find((each) => each.status === status)?.count ?? 0;
  return {
    ...group,
    down: group.down - among('down'),
    verifying: group.verifying - among('verifying'),
    up: group.up - among('up'),
    pending: group.pending - among('pending'),
    maintenance: own.reduce((sum, { count }) => sum + count, 0),
  };
}

export const listGroups = handle(api.listGroups)(
  ({ sql, organisation, now, with: { cursors } }, input) =>
    pageOf(
      cursors,
      ['groups', organisation.id],
      input,
      (from, limit) => groupPage(sql, organisation.id, from ?? beforeAll, limit),
      (row) => groupJson(row, now),
    ),
);

export const listMonitorsOutside = handle(contract.listMonitorsOutside)(
  async ({ sql, organisation }, { group_id }) => {
    await requireGroups(sql, organisation.id, [group_id]);
    return { items: await monitorsOutside(sql, organisation.id, group_id) };
  },
);

export const showGroup = handle(contract.showGroup)(
  async ({ sql, organisation, now }, { group_id }) => {
    const [row, uses, covered] = await Promise.all([
      groupById(sql, organisation.id, group_id),
      groupUses(sql, organisation.id, group_id, now),
      coveredInGroups(sql, organisation.id, now),
    ]);
    return { ...standingJson(row, covered, now), ...uses };
  },
);

export const updateGroup = handle(api.updateGroup)(async (context, input) =>
  changeGroup(
    context,
    await groupById(context.sql, context.organisation.id, input.group_id),
    input,
  ),
);
