import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { checkStatusPageDomain as checkOperation, renewStatusPageLink as linkOperation } from '../../../shared/api/status-pages.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { newPageKey, pageKeyFingerprint, proofRecordName, proofRecordText } from '../../access/access-status-page-keys.ts';
import { statusPageById, updateStatusPage, type WholePage, writePageLink } from '../../store/store-status-pages.ts';
import type { Answer, Early, InOrganisation, Place } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';
import { domainOut } from './operation-status-page-out.ts';

const claimed = ({ domain }: WholePage): string => {
  if (domain === null) throw new Refusal('domain_missing', 'The page has no domain; give it one first.');
  return domain;
};

/** DNS is asked before the transaction, because it may take seconds. */
export const checkStatusPageDomain = {
  before: async (
    { pool, organisation, with: { textRecords } }: Early<Place>,
    { page_id }: InputOf<typeof checkOperation>,
  ): Promise<{ readonly domain: string; readonly texts: readonly string[] }> => {
    const domain = claimed(found(await statusPageById(pool, organisation.id, page_id), 'status_page_not_found'));
    return { domain, texts: await textRecords(proofRecordName(domain)) };
  },
  act: async (
    { sql, organisation, now, note }: InOrganisation,
    { page_id }: InputOf<typeof checkOperation>,
    { domain, texts }: { readonly domain: string; readonly texts: readonly string[] },
  ): Answer<OutputOf<typeof checkOperation>> => {
    const page = found(await statusPageById(sql, organisation.id, page_id), 'status_page_not_found');
    // Another one was named in between: what was found says nothing of it.
    const proved = claimed(page) === domain && page.domain_token !== null && texts.includes(proofRecordText(page.domain_token));
    // Once proved it stays so: a record that is gone for an hour takes no page away.
    const after = proved && page.domain_proved_at === null ? { ...page, domain_proved_at: new Date(now) } : page;
    if (after !== page) await updateStatusPage(sql, organisation.id, page_id, after);
    note({ after: { domain, proved } });
    return { proved: after.domain_proved_at !== null, domain: domainOut(after), found: texts };
  },
};

/** The link holds the only copy of its secret. */
export const renewStatusPageLink = async (
  { sql, organisation, with: { baseUrl } }: InOrganisation,
  { page_id }: InputOf<typeof linkOperation>,
): Answer<OutputOf<typeof linkOperation>> => {
  const { slug } = found(await statusPageById(sql, organisation.id, page_id), 'status_page_not_found');
  const key = newPageKey();
  const fingerprint = pageKeyFingerprint(key);
  if (fingerprint === undefined || !(await writePageLink(sql, organisation.id, page_id, fingerprint)))
    throw notFound('status_page_not_found');
  return { link: `${baseUrl()}/status/${slug}?key=${key}` };
};
