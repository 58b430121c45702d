import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { addStatusPageGroup as operation } from '../../../shared/api/status-pages.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { groupById } from '../../store/store-groups.ts';
import { gatherMembers, insertPageGroup, nextPosition, publishMembers, statusPageExists } from '../../store/store-status-pages.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';
import { pageGroupOut } from './operation-status-page-out.ts';

/** The heading, and the monitors that the group has now, if they are wanted; what joins the group later is published by whoever means to. */
export const addStatusPageGroup = async (
  { sql, organisation }: InOrganisation,
  { page_id, group, display_name, monitors }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  if (!(await statusPageExists(sql, organisation.id, page_id))) throw notFound('status_page_not_found');
  const { name } = found(await groupById(sql, organisation.id, group), 'group_not_found');
  const row = {
    group_id: group,
    display_name: display_name === null ? name : nameFrom(display_name, 'display_name'),
    position: await nextPosition(sql, page_id),
  };
  if (!(await insertPageGroup(sql, page_id, row)))
    throw new Refusal('already_published', 'group: is on this page already; remove it first to publish it under another name.');
  if (monitors) await publishMembers(sql, page_id, group, await nextPosition(sql, page_id));
  else await gatherMembers(sql, page_id, group);
  return pageGroupOut(row);
};
