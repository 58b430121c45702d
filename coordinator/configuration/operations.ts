import { type Field, uuid } from '../../shared/api/fields.ts';
import * as api from '../../shared/api/files.ts';
import { type FileKind, fileKinds, fileObjects, isFileName } from '../../shared/api/files.ts';
import { type InputOf, InvalidInput, type OutputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord, memberOf } from '../../shared/base/json.ts';
import { storable } from '../../shared/base/names.ts';
import { handle } from '../gate/bind.ts';
import {
  differences,
  type InOrganisation,
  notFound,
  type OperationResult,
  type Performed,
} from '../gate/context.ts';
import { PutOut, putGroups } from '../groups/contract.ts';
import { putMonitors } from '../monitors/contract.ts';
import { tagsFrom } from '../monitors/model.ts';
import { wantsWarnings } from '../notifications/kinds/index.ts';
import * as frame from '../web/contract.ts';
import {
  fileOf,
  type Managed,
  managedBy,
  managedElsewhere,
  objectsNamed,
  removeManaged,
  thingsWithFile,
  writeManaged,
} from './queries.ts';
import {
  channelSteps,
  externalIdOf,
  groupItem,
  maintenanceSteps,
  monitorItem,
  objectiveSteps,
  type Resolve,
  rawOf,
  removalOf,
  type Step,
  type Steps,
  statusPageSteps,
} from './steps.ts';

/**
 * Applying a file: groups, monitors, channels, maintenance, objectives and status pages one after the other, each
 * by the operations that everybody calls, in one transaction. A plan does the same and undoes it, so
 * it can never say anything else than what applying does. When an object is refused, the others are
 * still judged, and nothing is left.
 */

type Input = InputOf<typeof api.applyFile>;
type Output = OutputOf<typeof api.applyFile>;
type Outcome = Output['objects'][number] & { readonly kind: FileKind };
type Raw = Readonly<Record<string, unknown>>;

export const applyFile = handle(api.applyFile)((context, input) => apply(context, input, 'keep'));

export const planFile = handle(api.planFile)((context, input) => apply(context, input, 'undo'));

export const getFile = handle(api.getFile)(async ({ sql, organisation }, { file }) => {
  const name = fileFrom(file);
  const [objects, elsewhere] = await Promise.all([
    managedBy(sql, organisation.id, name),
    managedElsewhere(sql, organisation.id, name),
  ]);
  return { objects, elsewhere };
});

export const showManager = handle(frame.showManager)(
  async ({ sql, organisation }, { objects }) => ({
    file: (await fileOf(sql, organisation.id, objects)) ?? null,
  }),
);

function fileFrom(name: string): string {
  if (isFileName(name)) return name;
  throw new Refusal('file_name_invalid', {
    file: 'name it by small letters and digits, with dashes between them, up to 60 characters.',
  });
}

async function apply(
  context: InOrganisation,
  input: Input,
  then: 'keep' | 'undo',
): OperationResult<Output> {
  const { sql, organisation, note } = context;
  const file = fileFrom(input.file);
  await sql`savepoint file`;
  const work = await begin(context, file, input);
  for (const kind of fileKinds)
    if (kind === 'groups') await makeGroups(work, input.groups);
    else if (kind === 'monitors') await makeMonitors(work, input.monitors);
    else for (const [key, raw] of Object.entries(input[kind])) await makeOne(work, kind, key, raw);
  await remove(work, input);
  const { outcomes } = work;
  const isRefused = outcomes.some(({ result }) => result === 'refused');
  const applied = then === 'keep' && !isRefused;
  if (applied)
    await writeManaged(
      sql,
      organisation.id,
      file,
      outcomes.flatMap(({ kind, key, id, result }) =>
        id !== null && isMade(result) ? [{ kind, key, id }] : [],
      ),
    );
  else await sql`rollback to savepoint file`;
  await sql`release savepoint file`;
  note({ after: { file, ...(applied ? countsOf(outcomes) : {}) } });
  const keys = new Map([...work.known.values()].map(({ id, key }) => [id, key]));
  return {
    applied,
    objects: outcomes.map((outcome) => ({
      ...outcome,
      // Of a new object the id is gone with the transaction.
      id: !applied && outcome.result === 'created' ? null : outcome.id,
      changes: withKeys(outcome.changes, keys),
    })),
  };
}

function isMade(result: string): boolean {
  return /^(?:created|changed|unchanged)$/.test(result);
}

function countsOf(outcomes: readonly Outcome[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { result } of outcomes) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
}

/** What is found out about a file while it is applied. */
type Work = {
  readonly context: InOrganisation;
  readonly file: string;
  /** By kind and key: objects of the file, and those that programs call so. */
  readonly known: Map<string, Managed & { readonly name: string; readonly type: string | null }>;
  readonly managed: readonly Managed[];
  /** What it manages already, by kind and key. */
  readonly owned: ReadonlySet<string>;
  /** What it cannot take, by kind and key. */
  readonly refused: Set<string>;
  readonly outcomes: Outcome[];
};

/** Finds the objects that exist: those the file made, those it adopts by id, and by external id. */
async function begin(context: InOrganisation, file: string, input: Input): Promise<Work> {
  const { sql, organisation } = context;
  const { id: of } = organisation;
  const managed = await managedBy(sql, of, file);
  const own = new Map(managed.map((each) => [nameOf(each.kind, each.key), each.id]));
  const [adopted, called] = [new Map<string, string>(), new Map<string, string>()];
  for (const kind of fileKinds)
    for (const [key, { id, external_id }] of Object.entries(input[kind])) {
      const name = nameOf(kind, key);
      if (own.has(name)) continue;
      if (typeof id === 'string') adopted.set(name, read(anyId, id));
      else
        called.set(name, typeof external_id === 'string' ? external_id : externalIdOf(file, key));
    }
  const referred = referencesIn(input);
  // What cannot be stored names nothing; the operations of the objects refuse it.
  const found = await objectsNamed(sql, of, [...called.values(), ...referred].filter(storable));
  const byExternalId = new Map(found.map((each) => [`${each.kind} ${each.external_id}`, each.id]));
  const all = new Map(
    (
      await thingsWithFile(sql, of, [
        ...own.values(),
        ...adopted.values(),
        ...byExternalId.values(),
      ])
    ).map((each) => [each.id, each]),
  );
  const known: Work['known'] = new Map();
  const outcomes: Outcome[] = [];
  const take = (kind: FileKind, key: string, id: string | undefined): void => {
    const thing = id === undefined ? undefined : all.get(id);
    if (thing?.kind === kind) known.set(nameOf(kind, key), { ...thing, key });
  };
  for (const key of referred)
    for (const kind of ['groups', 'monitors'] as const)
      take(kind, key, byExternalId.get(`${kind} ${key}`));
  for (const { kind, key, id } of managed) take(kind, key, id);
  for (const kind of fileKinds)
    for (const key of Object.keys(input[kind])) {
      const name = nameOf(kind, key);
      const external = called.get(name);
      const id = adopted.get(name) ?? byExternalId.get(`${kind} ${external ?? ''}`);
      if (own.has(name) || id === undefined) continue;
      const thing = all.get(id);
      if (adopted.has(name) && thing?.kind !== kind)
        outcomes.push(refused(kind, key, null, unknownId(kind)));
      else if (thing?.file) outcomes.push(refused(kind, key, id, managedBySomeone(thing.file)));
      else take(kind, key, id);
    }
  const work = { context, file, known, managed, owned: new Set(own.keys()) };
  return {
    ...work,
    refused: new Set(outcomes.map(({ kind, key }) => nameOf(kind, key))),
    outcomes,
  };
}

function nameOf(kind: FileKind, key: string): string {
  return `${kind} ${key}`;
}

/** Texts by which objects of the file name others. */
function referencesIn(input: Input): readonly string[] {
  const texts = new Set<string>();
  const add = (value: unknown): void => {
    if (typeof value === 'string') texts.add(value);
  };
  for (const kind of fileKinds)
    for (const object of Object.values(input[kind])) {
      add(object.group);
      add(object.monitor);
      const lists = [
        object.monitors,
        object.groups,
        object.depends_on_monitors,
        object.depends_on_groups,
      ];
      for (const list of lists) if (Array.isArray(list)) list.forEach(add);
      if (Array.isArray(object.rows))
        for (const row of object.rows) {
          add(memberOf(row, 'monitor'));
          add(memberOf(row, 'group'));
        }
    }
  return [...texts];
}

const unknownCodes = {
  groups: 'group_not_found',
  monitors: 'monitor_not_found',
  channels: 'channel_not_found',
  maintenance: 'maintenance_window_not_found',
  objectives: 'objective_not_found',
  status_pages: 'status_page_not_found',
} as const satisfies Record<FileKind, unknown>;

function unknownId(kind: FileKind): Refusal {
  return new Refusal('reference_unknown', {
    id: `${notFound(unknownCodes[kind]).message} Leave \`id\` out to create one.`,
  });
}

function managedBySomeone(file: string): Refusal {
  return new Refusal(
    'managed_elsewhere',
    `${file}/antipode.yaml manages it; take it out there, or leave it out here.`,
  );
}

function refused(
  kind: FileKind,
  key: string,
  id: string | null,
  { code, message }: Pick<Refusal, 'code' | 'message'>,
): Outcome {
  return { kind, key, id, result: 'refused', changes: {}, error: { code, message } };
}

const anyId = uuid();

/** As its field reads it; every object was judged by it when the input was read. */
function read<Value>(field: Field<Value>, raw: unknown): Value {
  const parsed = field.parse(raw, ['body']);
  if (!parsed.ok) throw new InvalidInput(parsed.faults);
  return parsed.value;
}

/** Kinds whose objects are made one by one. */
type SingleKind = Exclude<FileKind, 'groups' | 'monitors'>;

async function makeOne(work: Work, kind: SingleKind, key: string, raw: Raw): Promise<void> {
  if (work.refused.has(nameOf(kind, key))) return;
  const present = work.known.get(nameOf(kind, key));
  try {
    const steps = stepsOf(work, kind, key, raw);
    if (present && kind === 'channels' && present.type !== raw.kind)
      throw new Refusal('type_differs', {
        kind: `this channel is of kind ${present.type}, which never changes.`,
      });
    if (present && kind === 'objectives' && present.type !== objectiveTypeOf(steps))
      throw new Refusal(
        'type_differs',
        'what an objective is of never changes: give it another key, and the old one ends by `prune`.',
      );
    const done = present
      ? await takeSteps(work, steps.update, present.id)
      : await takeSteps(work, steps.create, null);
    const name = typeof raw.name === 'string' ? raw.name : key;
    work.known.set(nameOf(kind, key), { kind, key, id: done.id, name, type: null });
    conclude(work, adopting(work, { kind, key, ...done, error: null }));
  } catch (error) {
    conclude(work, refused(kind, key, present?.id ?? null, refusalIn(error)));
  }
}

/** As queries read it of one that exists. */
function objectiveTypeOf({ create: [step] }: Steps): string {
  const { monitor, group, tag, latency_ms } = step?.body ?? {};
  return [monitor, group, tagsFrom(tag == null ? [] : [String(tag)])[0], latency_ms]
    .map((part) => part ?? '-')
    .join('/');
}

function conclude({ outcomes, refused: all }: Work, outcome: Outcome): void {
  outcomes.push(outcome);
  if (outcome.result === 'refused') all.add(nameOf(outcome.kind, outcome.key));
}

/** That the file manages it from now on is a change too. */
function adopting({ owned, file }: Work, outcome: Outcome): Outcome {
  if (owned.has(nameOf(outcome.kind, outcome.key)) || !/^(?:un)?changed$/.test(outcome.result))
    return outcome;
  const changes = { ...outcome.changes, file: { before: null, after: file } };
  return { ...outcome, result: 'changed', changes };
}

function stepsOf(work: Work, kind: SingleKind, key: string, raw: Raw): Steps {
  const resolve = resolveIn(work);
  switch (kind) {
    case 'channels':
      return channelSteps(key, read(fileObjects.channels, raw), resolve, wantsWarnings);
    case 'maintenance':
      return maintenanceSteps(key, read(fileObjects.maintenance, raw), raw, resolve);
    case 'objectives':
      return objectiveSteps(key, read(fileObjects.objectives, raw), resolve);
    case 'status_pages':
      return statusPageSteps(key, read(fileObjects.status_pages, raw), resolve);
  }
}

function resolveIn({ known, refused }: Work): Resolve {
  return (kind, key) => {
    const thing = known.get(nameOf(kind, key));
    if (thing) return thing;
    const one = kind === 'groups' ? 'group' : 'monitor';
    if (refused.has(nameOf(kind, key))) throw refusedItself(key, one);
    throw new Refusal(
      'reference_unknown',
      `there is no ${one} "${key}" in the file, and none has it as its external id.`,
    );
  };
}

function refusedItself(key: string, one = 'monitor'): Refusal {
  return new Refusal('reference_unknown', `the ${one} "${key}" is refused itself.`);
}

/** The first step creates the object, unless there is one; the others change it. */
async function takeSteps(
  { context }: Work,
  steps: readonly Step[],
  present: string | null,
): Promise<Pick<Outcome, 'result' | 'changes'> & { readonly id: string }> {
  let id = present;
  let result = 'unchanged';
  let changes: Record<string, unknown> = {};
  for (const { operation, body } of steps) {
    const { body: answer, changed } = await context.perform(operation, rawOf(operation, id, body));
    const made = memberOf(answer, 'id');
    const isNew = id === null && changed !== undefined && changed.before === undefined;
    if (typeof made === 'string') id ??= made;
    if (isNew) result = 'created';
    else if (changed && result === 'unchanged') result = 'changed';
    if (result === 'changed') changes = { ...changes, ...changesOf(changed) };
  }
  if (id === null) throw new Error('no step of the file created an object');
  return { id, result, changes };
}

/** A change by field. */
function changesOf(changed: Performed['changed']): Record<string, unknown> {
  const { before = {}, after = {} } = changed ?? {};
  return Object.fromEntries(
    [...new Set([...Object.keys(before), ...Object.keys(after)])].map((name) => [
      name,
      { before: before[name] ?? null, after: after[name] ?? null },
    ]),
  );
}

/** @throws any error that is no refusal of the object itself. */
function refusalIn(error: unknown): Pick<Refusal, 'code' | 'message'> {
  if (error instanceof Refusal && error.code !== 'internal' && error.code !== 'unavailable')
    return error;
  if (error instanceof InvalidInput) return { code: 'config_invalid', message: error.message };
  throw error;
}

function makeGroups(work: Work, given: Input['groups']): Promise<void> {
  return makeTogether(work, putGroups, 'groups', given, (key, raw) =>
    groupItem(key, read(fileObjects.groups, raw), work.file),
  );
}

/** Monitors depend on each other in any order, so new ones have their ids before they are made. */
async function makeMonitors(work: Work, given: Input['monitors']): Promise<void> {
  const added = Object.keys(given).filter((key) => !work.known.has(nameOf('monitors', key)));
  const ids = new Map(added.map((key) => [key, newId()]));
  const resolveKnown = resolveIn(work);
  const resolve: Resolve = (kind, key) => {
    const id = kind === 'monitors' ? ids.get(key) : undefined;
    return id === undefined ? resolveKnown(kind, key) : { id, name: key };
  };
  await makeTogether(work, putMonitors, 'monitors', given, (key, raw) => ({
    ...monitorItem(key, read(fileObjects.monitors, raw), work.file, resolve),
    new_id: ids.get(key) ?? null,
  }));
  refuseDependents(work, given);
}

/** What depends on a monitor of the file that is refused is refused with it. */
function refuseDependents({ outcomes, refused: all }: Work, given: Input['monitors']): void {
  for (let isMore = true; isMore; ) {
    isMore = false;
    for (const [place, { kind, key, id, result }] of outcomes.entries()) {
      if (kind !== 'monitors' || result === 'refused') continue;
      const parents = given[key]?.depends_on_monitors;
      const lost = Array.isArray(parents)
        ? parents.find((each) => all.has(nameOf(kind, String(each))))
        : undefined;
      if (lost === undefined) continue;
      outcomes[place] = refused(kind, key, result === 'created' ? null : id, refusedItself(lost));
      all.add(nameOf(kind, key));
      isMore = true;
    }
  }
}

/** All objects of a kind by a few statements. */
async function makeTogether(
  work: Work,
  operation: typeof putGroups | typeof putMonitors,
  kind: 'groups' | 'monitors',
  given: Readonly<Record<string, Raw>>,
  itemOf: (key: string, raw: Raw) => { readonly name: string; readonly type?: string },
): Promise<void> {
  const asked: { key: string; id: string | null; item: ReturnType<typeof itemOf> }[] = [];
  for (const [key, raw] of Object.entries(given)) {
    if (work.refused.has(nameOf(kind, key))) continue;
    const id = work.known.get(nameOf(kind, key))?.id ?? null;
    try {
      asked.push({ key, id, item: itemOf(key, raw) });
    } catch (error) {
      conclude(work, refused(kind, key, id, refusalIn(error)));
    }
  }
  if (asked.length === 0) return;
  const { body } = await work.context.perform(operation, {
    body: { items: asked.map(({ id, item }) => ({ ...item, id })) },
  });
  const { items } = answerOf(body);
  for (const [place, { key, id: present, item }] of asked.entries()) {
    const answer = items[place];
    if (answer === undefined) throw new Error(`${operation.id} gave no answer for an object`);
    const { result, error } = answer;
    const id = answer.id ?? present;
    const changes =
      result === 'changed' ? changesOf(differences(answer.before ?? {}, answer.after ?? {})) : {};
    conclude(work, adopting(work, { kind, key, id, result, changes, error }));
    if (id !== null)
      work.known.set(nameOf(kind, key), {
        kind,
        key,
        id,
        name: item.name,
        type: item.type ?? null,
      });
  }
}

function answerOf(body: unknown): OutputOf<typeof putGroups> {
  const parsed = PutOut.parse(body, []);
  if (!parsed.ok) throw new Error('the answer is not in the form of PutOut');
  return parsed.value;
}

/** What the file made and no longer has: it goes in the reverse order. */
async function remove(work: Work, input: Input): Promise<void> {
  const { context, managed, outcomes } = work;
  const left = managed
    .filter(({ kind, key }) => !Object.hasOwn(input[kind], key))
    .toSorted((a, b) => fileKinds.indexOf(b.kind) - fileKinds.indexOf(a.kind));
  for (const { kind, key, id } of left) {
    if (input.prune) await context.perform(removalOf(kind), rawOf(removalOf(kind), id));
    const result = input.prune ? 'deleted' : 'kept';
    outcomes.push({ kind, key, id, result, changes: {}, error: null });
  }
  if (!input.prune) return;
  await removeManaged(
    context.sql,
    context.organisation.id,
    left.map(({ id }) => id),
  );
}

/** Ids of objects of the file become their keys, as the file itself names them. */
function withKeys(changes: Raw, keys: ReadonlyMap<string, string>): Raw {
  const keyed = (value: unknown): unknown => {
    if (typeof value === 'string') return keys.get(value) ?? value;
    if (Array.isArray(value)) return value.map(keyed);
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, keyed(each)]));
  };
  return Object.fromEntries(Object.entries(changes).map(([name, each]) => [name, keyed(each)]));
}
