import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { listStatusPages as operation } from '../../../shared/api/status-pages.ts';
import { statusPagePage } from '../../store/store-status-pages.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { beforeAll, pageOf } from '../operation-cursors.ts';
import { summaryOut } from './operation-status-page-out.ts';

export const listStatusPages = (
  { sql, organisation, with: { cursors } }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  pageOf(
    cursors,
    ['status pages', organisation.id],
    input,
    (from, most) => statusPagePage(sql, organisation.id, from ?? beforeAll, most),
    summaryOut,
  );
