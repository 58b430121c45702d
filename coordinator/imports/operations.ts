import { accepted } from '../../shared/api/accepted.ts';
import {
  applyFile,
  type FileKind,
  fileKinds,
  mostOfKind,
  type PlannedObject,
  planFile,
} from '../../shared/api/files.ts';
import type { Operation } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isService } from '../../shared/imports/download.ts';
import type { Imported, Omission } from '../../shared/imports/result.ts';
import { type Source, sourceNames } from '../../shared/imports/sources.ts';
import { removeManaged } from '../configuration/queries.ts';
import { rawOf, removalOf } from '../configuration/steps.ts';
import type { AnswerOf } from '../gate/answer.ts';
import { hourly } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import { mayManage } from '../gate/caller.ts';
import { type InOrganisation, notFound } from '../gate/context.ts';
import { monitorsForChange } from '../monitors/queries.ts';
import { deleterName, trashMonitors } from '../monitors/trash-queries.ts';
import * as contract from './contract.ts';
import { filledWith, listed, within, without } from './filling.ts';
import {
  type ImportRow,
  importById,
  insertDraft,
  type Made,
  markApplied,
  markUndone,
} from './queries.ts';
import { readImport } from './reading.ts';

const triesAnHour = 20;
const mostObjects = 10_000;
const kindNames: Readonly<Record<FileKind, string>> = {
  groups: 'groups',
  monitors: 'monitors',
  channels: 'channels',
  maintenance: 'maintenance windows',
  objectives: 'objectives',
  status_pages: 'status pages',
};

export const previewImport = handle(contract.previewImport)({
  /** Other services are asked before the transaction; what they say is kept without their key. */
  before: async (early, { source, document, key, url }) => {
    const { now, organisation, caller, with: dependencies } = early;
    const today = new Date(now).toISOString().slice(0, 10);
    const from =
      document === null ? serviceOf(source, key, url) : { document: documentOf(document) };
    await dependencies.attempts.count([hourly(`imports of ${organisation.id}`, triesAnHour)]);
    const { reachSource: reach } = dependencies;
    const imported = await readImport({ source, today, ...from }, { reach, gone: caller.gone });
    const count = listed(imported.objects).length;
    if (count > mostObjects)
      throw invalid(`It has ${count} objects; ${mostObjects} are the most. Import it in parts.`);
    for (const kind of fileKinds) {
      const [has, most] = [Object.keys(imported.objects[kind]).length, mostOfKind[kind]];
      if (has > most)
        throw invalid(
          `It has ${has} ${kindNames[kind]}; ${most} are the most. Import it in parts.`,
        );
    }
    return imported;
  },
  act: async (context, { source }, imported) => {
    const { sql, organisation, now, note } = context;
    const id = newId();
    const draft = await draftOf(context, source, imported);
    await insertDraft(sql, context.with.secrets, organisation.id, { id, source, ...draft }, now);
    note({ after: { source } });
    return importJson(await rowOf(context, id), now);
  },
});

function invalid(message: string): Refusal {
  return new Refusal('import_invalid', message);
}

function serviceOf(
  source: Source,
  key: string | null,
  url: string | null,
): { readonly key: string; readonly host: string | undefined } {
  if (!isService(source)) throw invalid('document: choose a file.');
  if (key === null || !/^[\x21-\x7e]{1,500}$/.test(key.trim()))
    throw invalid('key: enter a key of its API.');
  if (url !== null && source !== 'healthchecks')
    throw invalid(`url: ${sourceNames[source]} has one address; leave this empty.`);
  if (url !== null && !(/^https:\/\/[^/]/.test(url) && URL.canParse(url)))
    throw invalid('url: enter a valid address that begins with https://.');
  return { key: key.trim(), host: url ?? undefined };
}

function documentOf(text: string): string {
  if (text.startsWith('SQLite format 3'))
    throw invalid(
      'document: this is a database. The command line reads it: antipode import uptime-kuma kuma.db',
    );
  if (Buffer.byteLength(text) > contract.maxDocumentBytes)
    throw invalid('document: the file is larger than 2 MiB; use the command line for it.');
  return text;
}

/** What a plan refuses is left out and named, so that the rest can be applied. */
async function draftOf(
  context: InOrganisation,
  source: Source,
  imported: Imported,
): Promise<Imported> {
  const omissions: Omission[] = [...imported.omissions];
  let { objects } = imported;
  const channels = Object.keys(objects.channels);
  if (channels.length > 0 && !mayManage(context.caller.role)) {
    omissions.push({ why: 'only an owner or an admin may create team channels.', of: channels });
    objects = { ...objects, channels: {} };
  }
  const planned = await accepted(
    objects,
    (some) => plan(context, planFile, source, filledWith(some, {}).objects),
    without,
  );
  objects = planned.objects;
  omissions.push(...omissionsOf(planned.skipped));
  const used = new Set(
    Array.from(JSON.stringify(objects).matchAll(/\$\{(\w+)\}/g), ([, name]) => name),
  );
  const variables = imported.variables.filter(({ name }) => used.has(name));
  return { objects, omissions, variables };
}

async function plan(
  { perform }: InOrganisation,
  operation: Operation,
  source: Source,
  objects: Imported['objects'],
): Promise<readonly PlannedObject[]> {
  const { body } = await perform(operation, { path: { file: source }, body: objects });
  const answer = planFile.response?.parse(body, []);
  if (!answer?.ok) throw new Error('the answer of a plan is not in its form');
  return answer.value.objects;
}

function omissionsOf(refused: readonly PlannedObject[]): readonly Omission[] {
  return refused.map(({ key, error }) => ({ why: error?.message ?? '', of: [key] }));
}

export const showImport = handle(contract.showImport)(async (context, { import_id }) =>
  importJson(await rowOf(context, import_id), context.now),
);

export const applyImport = handle(contract.applyImport)(
  async (context, { import_id: id, values }) => {
    const { sql, organisation, now, note } = context;
    const row = await rowOf(context, id);
    if (row.applied_at !== null) throw invalid('It was applied already.');
    const filled = filledWith(row.objects, values);
    const chosen = await accepted(
      filled.objects,
      (some) => plan(context, planFile, row.source, some),
      without,
    );
    if (listed(chosen.objects).length === 0 && chosen.skipped.length > 0)
      throw refusalOf(chosen.skipped);
    const objects = await plan(context, applyFile, row.source, chosen.objects);
    const refused = objects.filter(({ error }) => error !== null);
    if (refused.length > 0) throw refusalOf(refused);
    const made = objects.flatMap(({ kind, id: of, result }): Made[] => {
      const known = fileKinds.find((each) => each === kind);
      return result === 'created' && of !== null && known !== undefined
        ? [{ kind: known, id: of }]
        : [];
    });
    // No file manages them from now on: pages change them as anything else.
    await removeManaged(
      sql,
      organisation.id,
      objects.flatMap(({ id: of }) => of ?? []),
    );
    const omissions = [...row.omissions, ...filled.omissions, ...omissionsOf(chosen.skipped)];
    const done = {
      ...row,
      objects: within(row.objects, chosen.objects),
      applied_at: now,
      made,
      omissions,
    };
    await markApplied(sql, context.with.secrets, organisation.id, done);
    note({ after: { source: row.source, created: made.length } });
    return importJson(done, now);
  },
);

/** Then nothing is changed, and it can be tried again. */
function refusalOf(refused: readonly PlannedObject[]): Refusal {
  return invalid(
    refused
      .slice(0, 10)
      .map(({ key, error }) => `${key}: ${error?.message}`)
      .join(' '),
  );
}

export const undoImport = handle(contract.undoImport)(async (context, { import_id: id }) => {
  const { sql, organisation, now, note, perform } = context;
  const row = await rowOf(context, id);
  if (stateOf(row) !== 'applied' || undoUntil(row) <= now)
    throw new Refusal('nothing_to_undo', 'An import can be undone once, within an hour.');
  const madeOf = Map.groupBy(row.made, ({ kind }) => kind);
  for (const kind of fileKinds.toReversed()) {
    const ids = (madeOf.get(kind) ?? []).map((each) => each.id);
    if (kind === 'monitors') {
      const found = await monitorsForChange(sql, organisation.id, ids);
      await trashMonitors(sql, organisation.id, found, await deleterName(sql, context.caller));
    } else
      for (const each of ids)
        try {
          await perform(removalOf(kind), rawOf(removalOf(kind), each));
        } catch (error) {
          // Somebody deleted it meanwhile.
          if (!(error instanceof Refusal) || !error.code.endsWith('_not_found')) throw error;
        }
  }
  await markUndone(sql, organisation.id, id, now);
  note({ after: { source: row.source, deleted: row.made.length } });
  return importJson(await rowOf(context, id), now);
});

async function rowOf(
  { sql, organisation, with: { secrets } }: InOrganisation,
  id: string,
): Promise<ImportRow> {
  const row = await importById(sql, secrets, organisation.id, id);
  if (row === undefined) throw notFound('import_not_found');
  return row;
}

function stateOf({ applied_at, undone_at }: ImportRow) {
  return undone_at !== null ? 'undone' : applied_at !== null ? 'applied' : 'draft';
}

function undoUntil({ applied_at }: ImportRow): number {
  return (applied_at ?? 0) + contract.undoMs;
}

function importJson(row: ImportRow, now: number): AnswerOf<typeof contract.showImport> {
  const canUndo = stateOf(row) === 'applied' && undoUntil(row) > now;
  return {
    ...row,
    state: stateOf(row),
    undo_until: canUndo ? undoUntil(row) : null,
    objects: listed(row.objects),
  };
}
