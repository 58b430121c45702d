import type { listOrganisations as operation } from '../../../shared/api/inner/inner-operator.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { organisationsByName } from '../../store/store-operators.ts';
import type { Answer, Context } from '../operation-context.ts';
import { pageOf } from '../operation-cursors.ts';

export const listOrganisations = async (context: Context, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> =>
  pageOf(
    context.with.cursors,
    ['organisations'],
    input,
    (after, most) => organisationsByName(context.sql, after, most),
    ({ id, name, plan, monitors, members, created_at, ends_at }) => ({
      ...{ id, name, plan, monitors, members, created_at: created_at.toISOString() },
      ends_at: ends_at?.toISOString() ?? null,
    }),
  );
