import { randomBytes } from 'node:crypto';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { updateStatusPage as operation } from '../../../shared/api/status-pages.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { hashPassword } from '../../access/access-passwords.ts';
import { descriptionFrom, nameFrom } from '../../domain/given-names.ts';
import { pagePasswordFrom, slugFrom } from '../../domain/status-page.ts';
import { accentFrom } from '../../domain/status-page-appearance.ts';
import { pageDomainFrom } from '../../domain/status-page-domain.ts';
import { type PageSettings, statusPageById, statusPageExists, updateStatusPage as write } from '../../store/store-status-pages.ts';
import type { Answer, Early, InOrganisation, Place } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';
import { pageOut } from './operation-status-page-out.ts';

type Input = InputOf<typeof operation>;

/** Hashing takes long, so that it comes before the transaction; but nobody makes us work for a page that is not theirs. */
const before = async ({ pool, organisation }: Early<Place>, { page_id, password }: Input): Promise<string | null> => {
  if (!(await statusPageExists(pool, organisation.id, page_id))) throw notFound('status_page_not_found');
  return password === null ? null : hashPassword(pagePasswordFrom(password));
};

type Domain = Pick<PageSettings, 'domain' | 'domain_token' | 'domain_proved_at'>;

/** Another domain is proved anew. */
const domainOf = ({ domain: was, domain_token, domain_proved_at }: Domain, given: string | null, baseUrl: string): Domain => {
  const present = { domain: was, domain_token, domain_proved_at };
  if (given === null) return present;
  if (given.trim() === '') return { domain: null, domain_token: null, domain_proved_at: null };
  const domain = pageDomainFrom(given, baseUrl);
  return domain === was ? present : { domain, domain_token: randomBytes(16).toString('hex'), domain_proved_at: null };
};

/** What is told of a change: never the password. */
const told = ({ name, slug, description, enabled, language, accent, access, domain, password_hash }: PageSettings) => ({
  ...{ name, slug, description, enabled, language, accent, access, domain },
  has_password: password_hash !== null,
});

const act = async (
  { sql, organisation, note, with: { baseUrl } }: InOrganisation,
  input: Input,
  hash: string | null,
): Answer<OutputOf<typeof operation>> => {
  const present = found(await statusPageById(sql, organisation.id, input.page_id), 'status_page_not_found');
  const access = input.access ?? present.access;
  const password_hash = hash ?? present.password_hash;
  if (access === 'password' && password_hash === null)
    throw new Refusal('password_invalid', 'password: give one of 8 to 200 characters; without it nobody could see the page.');
  const settings: PageSettings = {
    name: input.name === null ? present.name : nameFrom(input.name),
    slug: input.slug === null ? present.slug : slugFrom(input.slug),
    description: input.description === null ? present.description : descriptionFrom(input.description),
    enabled: input.enabled ?? present.enabled,
    language: input.language ?? present.language,
    accent: input.accent === null ? present.accent : accentFrom(input.accent),
    ...{ access, password_hash },
    access_version: present.access_version + (hash !== null || access !== present.access ? 1 : 0),
    ...domainOf(present, input.domain, baseUrl()),
  };
  await write(sql, organisation.id, present.id, settings);
  const [was, is] = [told(present), told(settings)];
  note({ before: was, after: hash === null ? is : { ...is, password: 'another' } });
  return pageOut(found(await statusPageById(sql, organisation.id, present.id), 'status_page_not_found'));
};

export const updateStatusPage = { before, act };
