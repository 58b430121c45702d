import * as api from '../../shared/api/status-pages.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { handle } from '../gate/bind.ts';
import { notFound, orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { incidentById } from '../incidents/queries.ts';
import { postTextFrom, proofRecordName, proofRecordText } from './model.ts';
import { newPageKey, pageKeyFingerprint } from './public/access.ts';
import { suggestedPost } from './public/words.ts';
import {
  countPosts,
  countSubscribers,
  deletePost,
  insertPost,
  postById,
  postPage,
  requirePage,
  shownIncident,
  statusPageById,
  updateStatusPage,
  writePageLink,
} from './queries.ts';
import { domainJson, type WholePage } from './row.ts';

/** DNS is queried before the transaction, because it may take seconds. */
export const checkStatusPageDomain = handle(api.checkStatusPageDomain)({
  before: async ({ pool, organisation, with: { textRecords } }, { page_id }) => {
    const domain = claimed(await statusPageById(pool, organisation.id, page_id));
    return { domain, texts: await textRecords(proofRecordName(domain)) };
  },
  act: async ({ sql, organisation, now, note }, { page_id }, { domain, texts }) => {
    const page = await statusPageById(sql, organisation.id, page_id);
    // The domain was changed in between: the result says nothing about the new one.
    const proved =
      claimed(page) === domain &&
      page.domain_token !== null &&
      texts.includes(proofRecordText(page.domain_token));
    // A proved domain stays proved: a record that is missing for an hour does not take a page
    // offline.
    const after =
      proved && page.domain_proved_at === null ? { ...page, domain_proved_at: now } : page;
    if (after !== page) await updateStatusPage(sql, organisation.id, page_id, after);
    note({ after: { domain, proved } });
    return { proved: after.domain_proved_at !== null, domain: domainJson(after), found: texts };
  },
});

function claimed({ domain }: WholePage): string {
  if (domain === null)
    throw new Refusal('domain_missing', 'The page has no domain yet. Add one first.');
  return domain;
}

/** The link contains the only copy of its secret. */
export const renewStatusPageLink = handle(api.renewStatusPageLink)(
  async ({ sql, organisation, with: { baseUrl } }, { page_id }) => {
    const { slug } = await statusPageById(sql, organisation.id, page_id);
    const key = newPageKey();
    const fingerprint = pageKeyFingerprint(key);
    if (
      fingerprint === undefined ||
      !(await writePageLink(sql, organisation.id, page_id, fingerprint))
    )
      throw notFound('status_page_not_found');
    return { link: `${baseUrl()}/status/${slug}?key=${key}` };
  },
);

const maxPosts = 100;

export const listStatusPagePosts = handle(api.listStatusPagePosts)(async (context, input) => {
  const { sql, organisation, with: instruments } = context;
  const { page_id: page, incident } = input;
  await requirePage(sql, organisation.id, page);
  return pageOf(
    instruments.cursors,
    ['posts', organisation.id, page, incident],
    input,
    (from, limit) =>
      postPage(sql, { organisation: organisation.id, page, incident }, from ?? afterAll, limit),
    (row) => row,
  );
});

/**
 * Addressed to the page's audience: about a monitor on the page, and in the page's language unless
 * a text is given.
 */
export const createStatusPagePost = handle(api.createStatusPagePost)(
  async (context, { page_id: page, incident_id: incident, kind, text: given }) => {
    const { sql, organisation, caller, now } = context;
    await requirePage(sql, organisation.id, page);
    orNotFound(await incidentById(sql, organisation.id, incident), 'incident_not_found');
    const shown = await shownIncident(sql, page, incident);
    if (!shown)
      throw new Refusal(
        'incident_not_published',
        'The page does not show this incident: its monitor is not on it, or nobody has confirmed it.',
      );
    const text =
      given === null || given.trim() === ''
        ? suggestedPost(shown.language, kind, shown.name)
        : postTextFrom(given);
    if ((await countPosts(sql, page, incident)) >= maxPosts)
      throw new Refusal('post_invalid', {
        text: `an incident has at most ${maxPosts} posts on a page; take one away first.`,
      });
    const id = newId();
    await insertPost(sql, {
      id,
      page,
      incident,
      kind,
      text,
      organisation: organisation.id,
      user: caller.user,
      at: now,
    });
    return orNotFound(await postById(sql, organisation.id, id), 'status_page_post_not_found');
  },
);

export const deleteStatusPagePost = handle(api.deleteStatusPagePost)(
  async (context, { page_id: page, post_id: post }) => {
    const { sql, organisation } = context;
    await requirePage(sql, organisation.id, page);
    if (!(await deletePost(sql, organisation.id, page, post)))
      throw notFound('status_page_post_not_found');
  },
);

export const getStatusPageSubscribers = handle(api.getStatusPageSubscribers)(
  async (context, { page_id: page }) => {
    await requirePage(context.sql, context.organisation.id, page);
    const { confirmed, waiting } = await countSubscribers(context.sql, page);
    return { confirmed, waiting };
  },
);
