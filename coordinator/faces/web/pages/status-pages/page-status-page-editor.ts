import { getStatusPageEditor } from '../../../../../shared/api/inner/inner-status-pages.ts';
import { deleteStatusPage, getStatusPage } from '../../../../../shared/api/status-pages.ts';
import type { FormState } from '../../web-forms.ts';
import { html, type Part, safeUrl } from '../../web-html.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, show } from '../../web-page.ts';
import { logoCard, lookCard } from './page-status-page-appearance.ts';
import { accessWords, addressOf, card, type Editing, languageNames, trail, type Which } from './page-status-page-parts.ts';
import { incidentsCard } from './page-status-page-posts.ts';
import { addCard, offeredCard, publishedCard } from './page-status-page-published.ts';
import { accessCard, domainCard } from './page-status-page-reach.ts';

const sentenceOf = ({ page: { name, enabled, monitors } }: Editing): string => {
  if (!enabled) return `${name} is switched off.`;
  if (monitors.length === 0) return `${name} shows nothing yet.`;
  return `${name} shows ${monitors.length === 1 ? 'one monitor' : `${monitors.length} monitors`}.`;
};

/** A page that a password or a link opens is looked at by these. */
const belowOf = ({ page, editor: { base_url } }: Editing): Part => {
  const address = addressOf(page, base_url);
  const where = page.enabled ? html`<a href="${safeUrl(address)}">${address.replace(/^https?:\/\//, '').replace(/\/$/, '')}</a>` : address;
  return html`${where}. ${page.enabled ? `Seen by ${(accessWords[page.access] ?? '').toLowerCase().replace('who', 'whoever')}` : 'Nobody sees it'}${page.access === 'link' && page.enabled && !page.has_link && ': there is no link yet'}.`;
};

/** For who may only look. */
const factsCard = ({ page, request: { may } }: Editing) =>
  may(deleteStatusPage)
    ? null
    : card(
        'facts',
        'How it looks',
        null,
        html`<dl class="page-facts"><dt>Language</dt><dd>${languageNames[page.language] ?? page.language}</dd><dt>Accent colour</dt><dd>${page.accent ?? 'the usual one'}</dd><dt>Seen by</dt><dd>${accessWords[page.access] ?? page.access}</dd><dt>Own domain</dt><dd>${page.domain === null ? 'none' : `${page.domain.name}${page.domain.proved_at === null ? ', not proved yet' : ''}`}</dd><dt>Subscribers</dt><dd>${page.subscribers}</dd></dl>`,
      );

export const editorPage = (editing: Editing): PageAnswer => {
  const { page, request, tried, link } = editing;
  // While something is down, telling of it comes first.
  const isTelling = editing.editor.incidents.some(({ resolved_at }) => resolved_at === null);
  return show({
    title: page.name,
    place: 'status-pages',
    status: tried?.state.status ?? 200,
    ...(link === undefined ? {} : { headers: { 'cache-control': 'no-store' } }),
    main: html`<div class="status-page-editor">${heading({
      sentence: sentenceOf(editing),
      below: belowOf(editing),
      trail,
      actions: html`${page.enabled && linkButton(`/status/${page.slug}`, 'See the page', { symbol: 'see' })}${request.may(deleteStatusPage) && linkButton(`/status-pages/${page.id}/delete`, 'Delete', { symbol: 'delete' })}`,
    })}
<div class="editor-columns"><div class="editor-column">${isTelling && incidentsCard(editing)}${publishedCard(editing)}${offeredCard(editing)}${addCard(editing)}${!isTelling && incidentsCard(editing)}</div>
<div class="editor-column">${lookCard(editing)}${factsCard(editing)}${logoCard(editing)}${accessCard(editing)}${domainCard(editing)}</div></div></div>`,
  });
};

export const editingOf = async (request: MembersRequest): Promise<Editing> => {
  const { page_id } = request.path;
  const [page, editor] = await Promise.all([request.ask(getStatusPage, { page_id }), request.ask(getStatusPageEditor, { page_id })]);
  return { page, editor, request };
};

/** The editor with what was refused in one of its forms. */
export const refusedPage = (editing: Editing, which: Which, state: FormState): PageAnswer =>
  editorPage({ ...editing, tried: { which, state } });

export const statusPageEditor: Page = {
  method: 'GET',
  path: '/status-pages/:page_id',
  needs: 'member',
  answer: async (request) => editorPage(await editingOf(request)),
};
