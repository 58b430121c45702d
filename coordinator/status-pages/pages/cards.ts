import type { OutputOf } from '../../../shared/api/operation.ts';
import type { getStatusPage } from '../../../shared/api/status-pages.ts';
import type { Form } from '../../web/form-data.ts';
import { type FormState, formSummary, freshForm } from '../../web/forms.ts';
import { type Html, html, type Part } from '../../web/html.ts';
import type { MembersRequest } from '../../web/page.ts';
import type { getStatusPageEditor } from '../contract.ts';

export type StatusPage = OutputOf<typeof getStatusPage>;
export type Editor = OutputOf<typeof getStatusPageEditor>;

/** The form of the editor that was sent, and its faults. */
export type Which = 'rows' | 'add' | 'offered' | 'settings' | 'logo' | 'access' | 'domain';
export type Tried = { readonly which: Which; readonly state: FormState };

/** The editor of one page, as it is shown now. */
export type Editing = {
  readonly page: StatusPage;
  readonly editor: Editor;
  readonly request: MembersRequest;
  readonly tried?: Tried | undefined;
  /** The link of a private page, shown once. */
  readonly link?: string;
  /** The DNS records, after someone requested them. */
  readonly texts?: readonly string[];
};

export const trail = [{ href: '/status-pages', name: 'Status pages' }];

/** The values of a form: those that were sent and refused, or the present ones. */
export const stateOf = ({ tried }: Editing, which: Which, form: Form): FormState =>
  tried?.which === which ? tried.state : freshForm(form);

/** The refusal, above its form. */
export const summaryOf = ({ tried }: Editing, which: Which): Html | null =>
  tried?.which === which ? formSummary(tried.state) : null;

export const card = (id: string, title: string, about: Part, inside: Part): Html =>
  html`
    <section class="card stack" id="${id}" aria-labelledby="${id}-title">
      <div><h2 id="${id}-title">${title}</h2>${about && html`<p class="soft">${about}</p>`}</div>
      ${inside}
    </section>
  `;

export const accessWords: Readonly<Record<string, string>> = {
  public: 'Everybody',
  password: 'Who knows the password',
  link: 'Who has the link',
};

export const languageNames: Readonly<Record<string, string>> = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
};

/** The page's public address: its own domain once that is proved. */
export const addressOf = (
  { slug, domain }: Pick<StatusPage, 'slug' | 'domain'>,
  baseUrl: string,
): string =>
  domain !== null && domain.proved_at !== null
    ? `https://${domain.name}/`
    : `${baseUrl}/status/${slug}`;
