import { operations } from '../../../shared/api/index.ts';
import type { getAuditChoices as choicesOperation, listAudit as listOperation } from '../../../shared/api/inner/inner-audit.ts';
import { innerOperations, installationOperations, personOperations, visitorOperations } from '../../../shared/api/inner/inner-index.ts';
import type { InputOf, Operation, OutputOf } from '../../../shared/api/operation.ts';
import { isRecord } from '../../../shared/base/json.ts';
import { epochOf } from '../../domain/zone-clock.ts';
import { type AuditRow, auditChoices, auditPage } from '../../store/store-audit.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { afterAll, pageOf } from '../operation-cursors.ts';

const all: readonly Operation[] = [operations, innerOperations, personOperations, visitorOperations, installationOperations].flatMap(
  (table): readonly Operation[] => Object.values(table),
);
const summaries = new Map(all.map(({ id, summary }) => [id, summary]));

/** An operation that there is no more is called by its id. */
const wordsOf = (operation: string): string => summaries.get(operation) ?? operation;

const record = (value: unknown): Readonly<Record<string, unknown>> | null => (isRecord(value) ? value : null);

const entryOut = ({ key, at, who, through, token_name, address, operation, changed }: AuditRow) => ({
  ...{ id: key, at: at.toISOString(), who, through, token_name, address, operation, what: wordsOf(operation) },
  about: record(changed.about) ?? {},
  before: record(changed.before),
  after: record(changed.after) ?? record(changed.sent),
});

export const listAudit = async (
  { sql, organisation, with: { cursors } }: InOrganisation,
  input: InputOf<typeof listOperation>,
): Answer<OutputOf<typeof listOperation>> => {
  const { who, operation } = input;
  const at = (moment: typeof input.from): number | null => (moment === null ? null : epochOf(moment, organisation.time_zone));
  const filter = { who, operation, from: at(input.from), until: at(input.until) };
  return pageOf(
    cursors,
    ['audit', organisation.id, who, operation, filter.from, filter.until],
    input,
    (from, most) => auditPage(sql, organisation.id, filter, from ?? afterAll, most),
    entryOut,
  );
};

export const getAuditChoices = async ({ sql, organisation }: InOrganisation): Answer<OutputOf<typeof choicesOperation>> => {
  const { who, operations: ids } = await auditChoices(sql, organisation.id);
  return { who, operations: ids.map((id) => ({ id, what: wordsOf(id) })).toSorted((a, b) => a.what.localeCompare(b.what, 'en')) };
};
