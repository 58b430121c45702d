import { isDeepStrictEqual } from 'node:util';
import type { InputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { descriptionFrom, folded, nameFrom } from '../../shared/base/names.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound } from '../gate/context.ts';
import { enforceLimit, type PlanName } from '../gate/plans.ts';
import { externalIdFrom } from '../monitors/model.ts';
import * as contract from './contract.ts';
import {
  countGroups,
  freeNames,
  type GroupSettings,
  groupsConcerned,
  insertGroups,
  updateGroups,
  type WrittenGroup,
} from './queries.ts';

/** Several groups at once, by a few statements. */

type Item = InputOf<typeof contract.putGroups>['items'][number];
type Asked = GroupSettings & { readonly id: string | null };
type Planned = { readonly before: GroupSettings | undefined; readonly group: WrittenGroup };

export const putGroups = handle(contract.putGroups)(
  async ({ sql, organisation, note }, { items }) => {
    const { id: of, plan } = organisation;
    const asked = items.map((item) => refusable(() => askedFrom(item)));
    const present = await groupsConcerned(sql, of, accepted(asked));
    for (const { id } of items)
      if (id !== null && !present.some((each) => each.id === id)) throw notFound('group_not_found');
    const judge = judgeAmong(present, { plan, count: await countGroups(sql, of) });
    const judged = asked.map((each) =>
      each instanceof Refusal ? each : refusable(() => judge(each)),
    );
    const written = accepted(judged).filter((each) => resultOf(each) !== 'unchanged');
    await write({ sql, of }, written);
    note({
      before: {},
      after:
        written.length === 0
          ? {}
          : {
              groups: written.map((each) => ({
                id: each.group.id,
                name: each.group.name,
                result: resultOf(each),
              })),
            },
    });
    return { items: judged.map(answerFor) };
  },
);

function askedFrom({ id, name, description, external_id }: Item): Asked {
  return {
    id,
    name: nameFrom(name),
    description: descriptionFrom(description),
    external_id: externalIdFrom(external_id),
  };
}

/** Judges one group after the other, as if those before it existed already. */
function judgeAmong(
  present: readonly WrittenGroup[],
  { plan, count }: { readonly plan: PlanName; readonly count: number },
): (asked: Asked) => Planned {
  const byId = new Map(present.map((each) => [each.id, each]));
  const byName = new Map(present.map((each) => [folded(each.name), each]));
  const called = new Map(present.map((each) => [each.external_id, each.id]));
  let groups = count;
  return ({ id, ...settings }) => {
    const { name, external_id } = settings;
    const named = byName.get(folded(name));
    if (named !== undefined && named.id !== id && (id !== null || named.external_id !== null))
      throw new Refusal('name_taken', {
        name: `there is a group "${named.name}" already${named.external_id === null ? '' : `, which is "${named.external_id}"`}; choose another name.`,
      });
    // A group that no program has, and has the name, is adopted as it is.
    const before = id === null ? named : byId.get(id);
    const group =
      id === null && before !== undefined
        ? { ...before, external_id }
        : { ...settings, id: before?.id ?? newId() };
    if (external_id !== null && (called.get(external_id) ?? group.id) !== group.id)
      throw new Refusal('external_id_taken', {
        external_id: `another group is "${external_id}" already; choose another one.`,
      });
    if (before === undefined) {
      enforceLimit('groups', plan, groups);
      groups += 1;
    } else byName.delete(folded(before.name));
    byId.set(group.id, group);
    byName.set(folded(group.name), group);
    called.set(external_id, group.id);
    return { before, group };
  };
}

async function write(
  { sql, of }: { readonly sql: InOrganisation['sql']; readonly of: string },
  planned: readonly Planned[],
): Promise<void> {
  const changed = planned.filter(({ before }) => before !== undefined);
  const renamed = changed.filter(({ before, group }) => before?.name !== group.name);
  await freeNames(
    sql,
    of,
    renamed.map(({ group }) => group.id),
  );
  await updateGroups(
    sql,
    of,
    changed.map(({ group }) => group),
  );
  await insertGroups(
    sql,
    of,
    planned.flatMap(({ before, group }) => (before === undefined ? [group] : [])),
  );
}

function resultOf({ before, group }: Planned): 'created' | 'changed' | 'unchanged' {
  if (before === undefined) return 'created';
  return isDeepStrictEqual(settingsOf(before), settingsOf(group)) ? 'unchanged' : 'changed';
}

function settingsOf({ name, description, external_id }: GroupSettings): GroupSettings {
  return {
    name,
    description,
    external_id,
  };
}

function answerFor(judged: Planned | Refusal) {
  return judged instanceof Refusal
    ? {
        result: 'refused',
        id: null,
        before: null,
        after: null,
        error: { code: judged.code, message: judged.message },
      }
    : {
        result: resultOf(judged),
        id: judged.group.id,
        before: judged.before ? settingsOf(judged.before) : null,
        after: settingsOf(judged.group),
        error: null,
      };
}

function refusable<Value>(work: () => Value): Value | Refusal {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function accepted<Value>(all: readonly (Value | Refusal)[]): Value[] {
  return all.flatMap((each) => (each instanceof Refusal ? [] : [each]));
}
