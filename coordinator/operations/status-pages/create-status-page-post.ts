import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type {
  createStatusPagePost as createOperation,
  deleteStatusPagePost as deleteOperation,
  listStatusPagePosts as listOperation,
  getStatusPageSubscribers as subscribersOperation,
} from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { postTextFrom, usualPost } from '../../domain/status-page-posts.ts';
import { incidentById } from '../../store/store-incidents-read.ts';
import {
  countPosts,
  countSubscribers,
  deletePost,
  insertPost,
  type PostRow,
  postById,
  postPage,
  shownIncident,
} from '../../store/store-status-page-posts.ts';
import { statusPageExists } from '../../store/store-status-pages.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { afterAll, pageOf } from '../operation-cursors.ts';
import { found, notFound } from '../operation-not-found.ts';
import { postOut } from './operation-status-page-out.ts';

const mostPosts = 100;

const refuseForeignPage = async ({ sql, organisation }: InOrganisation, page: string): Promise<void> => {
  if (!(await statusPageExists(sql, organisation.id, page))) throw notFound('status_page_not_found');
};

export const listStatusPagePosts = async (
  context: InOrganisation,
  input: InputOf<typeof listOperation>,
): Answer<OutputOf<typeof listOperation>> => {
  const { sql, organisation, with: instruments } = context;
  const { page_id: page, incident } = input;
  await refuseForeignPage(context, page);
  return pageOf(
    instruments.cursors,
    ['posts', organisation.id, page, incident],
    input,
    (from, most) => postPage(sql, { organisation: organisation.id, page, incident }, from ?? afterAll, most),
    (row: PostRow) => postOut(row),
  );
};

/** Told to the audience of the page: of what the page shows, and in its language when nothing else is said. */
export const createStatusPagePost = async (
  context: InOrganisation,
  { page_id: page, incident_id: incident, kind, text: given }: InputOf<typeof createOperation>,
): Answer<OutputOf<typeof createOperation>> => {
  const { sql, organisation, caller, now } = context;
  await refuseForeignPage(context, page);
  found(await incidentById(sql, organisation.id, incident), 'incident_not_found');
  const shown = await shownIncident(sql, page, incident);
  if (!shown)
    throw new Refusal(
      'incident_not_published',
      'The page does not show this incident: its monitor is not on it, or nobody has confirmed it.',
    );
  const text = given === null || given.trim() === '' ? usualPost(shown.language, kind, shown.name) : postTextFrom(given);
  if ((await countPosts(sql, page, incident)) >= mostPosts)
    throw new Refusal('post_invalid', `text: an incident has at most ${mostPosts} posts on a page; take one away first.`);
  const id = newId();
  await insertPost(sql, { ...{ id, page, incident, kind, text }, organisation: organisation.id, user: caller.user, at: new Date(now) });
  return postOut(found(await postById(sql, organisation.id, id), 'status_page_post_not_found'));
};

export const deleteStatusPagePost = async (
  context: InOrganisation,
  { page_id: page, post_id: post }: InputOf<typeof deleteOperation>,
): Promise<void> => {
  const { sql, organisation } = context;
  await refuseForeignPage(context, page);
  if (!(await deletePost(sql, organisation.id, page, post))) throw notFound('status_page_post_not_found');
};

export const getStatusPageSubscribers = async (
  context: InOrganisation,
  { page_id: page }: InputOf<typeof subscribersOperation>,
): Answer<OutputOf<typeof subscribersOperation>> => {
  await refuseForeignPage(context, page);
  return countSubscribers(context.sql, page);
};
