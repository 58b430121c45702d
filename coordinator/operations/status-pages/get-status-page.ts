import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { getStatusPage as operation } from '../../../shared/api/status-pages.ts';
import { statusPageById } from '../../store/store-status-pages.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { pageOut } from './operation-status-page-out.ts';

export const getStatusPage = async (
  { sql, organisation }: InOrganisation,
  { page_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => pageOut(found(await statusPageById(sql, organisation.id, page_id), 'status_page_not_found'));
