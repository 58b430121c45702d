import type { ValueOf } from '../../../shared/api/fields.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { impacts, type StatusPageReportOut } from '../../../shared/api/status-page-reports.ts';
import { getStatusPage } from '../../../shared/api/status-pages.ts';
import { formOf } from '../../web/form-data.ts';
import { type FormState, freshForm } from '../../web/forms.ts';
import { type Html, html, icon, type Part } from '../../web/html.ts';
import type { MembersRequest } from '../../web/page.ts';
import type { Times } from '../../web/times.ts';
import { getStatusPageEditor } from '../contract.ts';
import type { Editor, Row } from './draft.ts';

export type StatusPage = OutputOf<typeof getStatusPage>;
export type Report = ValueOf<typeof StatusPageReportOut>;

/** The editor of one page, as it is shown now. */
export type Editing = {
  readonly page: StatusPage;
  readonly editor: Editor;
  readonly request: MembersRequest;
  /** The saved values, or those of the form that was sent, with its faults. */
  readonly state: FormState;
  /** What it would show if it were saved now. */
  readonly rows: readonly Row[];
  /** Buttons changed what is shown, and nothing is saved yet. */
  readonly isChanged: boolean;
  /** The link of a private page, shown once. */
  readonly link?: string;
  /** The DNS records, after someone requested them. */
  readonly texts?: readonly string[];
};

export async function editingOf(request: MembersRequest): Promise<Editing> {
  const { page_id } = request.path;
  const [page, editor] = await Promise.all([
    request.ask(getStatusPage, { page_id }),
    request.ask(getStatusPageEditor, { page_id }),
  ]);
  const { monitors: _monitors, groups: _groups, offered: _offered, domain, ...settings } = page;
  const form = formOf({ ...settings, domain: domain?.name });
  return { page, editor, request, state: freshForm(form), rows: editor.rows, isChanged: false };
}

export const trail = [{ href: '/status-pages', name: 'Status pages' }];

export function card(id: string, title: string, about: Part, inside: Part): Html {
  return html`
    <section class="card stack" id="${id}" aria-labelledby="${id}-title">
      <div><h2 id="${id}-title">${title}</h2>${about && html`<p class="soft">${about}</p>`}</div>
      ${inside}
    </section>
  `;
}

export const accessWords: Readonly<Record<string, string>> = {
  public: 'Everyone',
  password: 'Anyone with the password',
  link: 'Anyone with the link',
};

export const languageNames: Readonly<Record<string, string>> = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
};

/** The page's public address: its own domain once that is proved. */
export function addressOf(
  { slug, domain }: Pick<StatusPage, 'slug' | 'domain'>,
  baseUrl: string,
): string {
  return domain !== null && domain.proved_at !== null
    ? `https://${domain.name}/`
    : `${baseUrl}/status/${slug}`;
}

export const postKindWords: Readonly<Record<string, string>> = {
  announcement: 'Announcement',
  investigating: 'Investigating',
  identified: 'Identified',
  monitoring: 'Monitoring',
  resolved: 'Resolved',
};

type Post = { readonly kind: string; readonly text: string; readonly written_at: string };

export function postLine({ kind, text, written_at }: Post, times: Times): Html {
  return html`
    <p>
      <b>${postKindWords[kind] ?? kind}</b> <span class="softer">${times.moment(written_at)}</span>
      <span class="note-text soft">${text}</span>
    </p>
  `;
}

/** Who reads a post and who is notified of it, said before it is sent. */
export function readersOf(
  { enabled, subscribers }: Pick<StatusPage, 'enabled' | 'subscribers'>,
  reachable: number,
): string {
  if (!enabled) return 'The status page is off: no one sees this, and no one is notified.';
  if (subscribers === 0) return 'Visible to every visitor. No one has subscribed yet.';
  if (reachable === subscribers)
    return `Visible to every visitor. ${subscribers} ${subscribers === 1 ? 'subscriber' : 'subscribers'} will be notified.`;
  const able =
    reachable === 0 ? 'No subscriber' : `Only ${reachable} of ${subscribers} subscribers`;
  return `Visible to every visitor. ${able} can be notified: e-mail is not set up.`;
}

/** `1 subscriber, 2 waiting to confirm` */
export function subscribersText(confirmed: number, waiting: number): string {
  const words = `${confirmed === 0 ? 'No' : confirmed} ${confirmed === 1 ? 'subscriber' : 'subscribers'}`;
  return waiting === 0 ? words : `${words}, ${waiting} waiting to confirm`;
}

export const impactWords: Readonly<Record<(typeof impacts)[number], string>> = {
  degraded: 'Degraded',
  partial_outage: 'Partial outage',
  major_outage: 'Major outage',
};

/** The state of a report, as its line and its page show it. */
export function reportMark(report: Report, now: number): Html {
  const worst = worstOf(report);
  if (report.ends_at !== null && Date.parse(report.ends_at) <= now)
    return html`<span class="state state-up">${icon('up')}Resolved</span>`;
  if (worst === undefined) return html`<span class="state">${icon('note')}Announcement</span>`;
  const state = worst === 'degraded' ? 'verifying' : 'down';
  return html`<span class="state state-${state}">${icon(state)}${impactWords[worst]}</span>`;
}

function worstOf({ affected }: Report): (typeof impacts)[number] | undefined {
  return impacts.findLast((impact) => affected.some((each) => each.impact === impact));
}
