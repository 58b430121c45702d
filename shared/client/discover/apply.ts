import type { PlannedObject } from '../../api/files.ts';
import { UsageFault } from '../../base/env.ts';
import { inSlices, type Objects, send } from '../files/calls.ts';
import { hasChanges, summaryOf } from '../files/plan.ts';
import type { CommandContext, HttpClient } from '../http.ts';
import type { Draft } from './draft.ts';

/** Makes everything as the cluster says, as far as that is safe. */

type Applied = {
  /** Undefined when there was nothing to do. */
  readonly summary: string | undefined;
  /** What was not done, with the reason, a sentence each. */
  readonly notes: readonly string[];
};

type Wanted = {
  readonly name: string;
  readonly draft: Draft;
  /** False while a part of the cluster cannot be read: nothing is deleted then. */
  readonly isWhole: boolean;
  readonly prunesAll: boolean;
};

type Accepted = {
  readonly part: Part;
  readonly planned: readonly PlannedObject[];
  readonly prune: boolean;
  readonly notes: string[];
};

type Part = Required<Pick<Objects, 'groups' | 'monitors'>>;

export async function applyDraft(
  client: HttpClient,
  wanted: Wanted,
  world: CommandContext,
): Promise<Applied> {
  const { name, prunesAll } = wanted;
  const accepted = await acceptedPart(client, wanted);
  const { part, notes } = accepted;
  let { planned, prune } = accepted;
  const [deleted, existing] = monitorsIn(planned);
  if (prune && !prunesAll && deleted * 2 > existing) {
    notes.push(
      `${deleted} of ${existing} monitors would be deleted, more than half: none was. If that is right, run antipode discover kubernetes --once --prune-all.`,
    );
    prune = false;
    planned = await send(client, 'plan', name, { ...part, prune });
  }
  if (!hasChanges(planned)) return { summary: undefined, notes };
  const body = changedPart(part, planned);
  // Deleting alone needs all of it, to know what is no more.
  const isDeleting = planned.some(({ result }) => result === 'deleted');
  const last = isDeleting ? { ...part, prune } : { ...body, prune: false };
  const done = await inSlices(client, { name, objects: body }, last, world);
  for (const { key, error } of done) if (error !== null) notes.push(`${key}: ${error.message}`);
  return { summary: summaryOf(planned), notes };
}

/**
 * One annotation must not keep all others from being applied. A monitor that is refused goes on
 * without its annotations; one that is refused even so is left out, and then nothing may be deleted,
 * or it would be.
 */
async function acceptedPart(
  client: HttpClient,
  { name, draft, isWhole }: Wanted,
): Promise<Accepted> {
  const groups = { ...draft.objects.groups };
  const monitors = { ...draft.objects.monitors };
  const plain = { ...draft.plain };
  const notes: string[] = [];
  let prune = isWhole;
  for (;;) {
    const planned = await send(client, 'plan', name, { groups, monitors, prune });
    const refused = planned.filter(({ result }) => result === 'refused');
    if (refused.length === 0) return { part: { groups, monitors }, planned, prune, notes };
    const ofGroups = refused.filter(({ kind }) => kind === 'groups');
    // Its monitors are refused with a group, and are judged again without it.
    for (const { kind, key, error } of ofGroups.length > 0 ? ofGroups : refused) {
      const reason = error?.message ?? 'it is refused.';
      const isOurs = Object.hasOwn(kind === 'groups' ? groups : monitors, key);
      if (!isOurs && !prune) throw new UsageFault(`${key}: ${reason}`);
      const usual = plain[key];
      if (kind === 'groups') {
        delete groups[key];
        for (const all of [monitors, plain])
          for (const [one, monitor] of Object.entries(all))
            if (monitor.group === key) all[one] = { ...monitor, group: undefined };
        notes.push(`group ${key} is left out, and nothing is deleted meanwhile: ${reason}`);
      } else if (usual !== undefined && JSON.stringify(usual) !== JSON.stringify(monitors[key])) {
        monitors[key] = usual;
        notes.push(`${key} goes on without its annotations: ${reason}`);
        continue;
      } else {
        delete monitors[key];
        notes.push(`${key} is left out, and nothing is deleted meanwhile: ${reason}`);
      }
      prune = false;
    }
  }
}

/** In a cluster of thousands of hosts one change is one small call. */
function changedPart({ groups, monitors }: Part, planned: readonly PlannedObject[]): Part {
  return {
    groups,
    monitors: Object.fromEntries(
      planned.flatMap(({ kind, key, result }) => {
        const monitor = monitors[key];
        const isChanged = kind === 'monitors' && (result === 'created' || result === 'changed');
        return isChanged && monitor !== undefined ? [[key, monitor]] : [];
      }),
    ),
  };
}

/** How many would be deleted, and how many the file has so far. */
function monitorsIn(planned: readonly PlannedObject[]): readonly [number, number] {
  const count = (pattern: RegExp): number =>
    planned.filter(({ kind, result }) => kind === 'monitors' && pattern.test(result)).length;
  return [count(/^deleted$/), count(/^(?:deleted|unchanged|changed)$/)];
}
