import * as api from '../../shared/api/causes.ts';
import { handle } from '../gate/bind.ts';
import { orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { type CauseRow, causeName, explanationOf } from './model.ts';
import { causeById, causePage } from './queries.ts';

/** Newest first. */
export const listCauses = handle(api.listCauses)(
  ({ sql, organisation, with: { cursors } }, input) =>
    pageOf(
      cursors,
      ['causes', organisation.id, input.state],
      input,
      (from, limit) => causePage(sql, organisation.id, input.state, from ?? afterAll, limit),
      causeJson,
    ),
);

export const getCause = handle(api.getCause)(async ({ sql, organisation }, { cause_id }) =>
  causeJson(orNotFound(await causeById(sql, organisation.id, cause_id), 'cause_not_found')),
);

function causeJson(row: CauseRow) {
  const { id, kind, value, began_at, found_at, ended_at, incidents, open_incidents } = row;
  return {
    ...{ id, kind, value, name: causeName(row), explanation: explanationOf(row) },
    ...{ began_at, found_at, ended_at, incidents, open_incidents },
  };
}
