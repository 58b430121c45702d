import {
  checkStatusPageDomain,
  deleteStatusPage,
  getStatusPage,
  listStatusPageSubscribers,
  renewStatusPageLink,
  updateStatusPage,
} from '../../../shared/api/status-pages.ts';
import { heading, linkButton } from '../../web/elements.ts';
import {
  attempt,
  enterSaves,
  type FormState,
  formSummary,
  freshForm,
  refuseUnlessMay,
} from '../../web/forms.ts';
import { type Html, html, joined, type Part, safeUrl } from '../../web/html.ts';
import { menuLink, moreActions } from '../../web/menu.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  send,
  show,
} from '../../web/page.ts';
import {
  getStatusPageLogo,
  previewStatusPage,
  removeStatusPageLogo,
  setStatusPageLogo,
} from '../contract.ts';
import {
  accessWords,
  addressOf,
  card,
  type Editing,
  editingOf,
  languageNames,
  subscribersText,
  trail,
} from './cards.ts';
import { changedRows, nameField, type Row } from './draft.ts';
import { incidentsCard, isTroubled } from './posts.ts';
import { previewFrame } from './preview.ts';
import { addFold, publishedCard } from './rows.ts';
import {
  accessFold,
  domainFold,
  logoForm,
  lookFold,
  settingNames,
  settingsIn,
} from './settings.ts';

export const statusPageEditor = forMembers.get('/status-pages/:page_id', async (request) =>
  shown(await editingOf(request)),
);

/** The editor with the page as it would be after saving. */
async function shown(editing: Editing): Promise<PageAnswer> {
  const { page, request, state, rows } = editing;
  if (!request.may(updateStatusPage)) return editorPage(editing, '');
  const { html: document } = await request.ask(previewStatusPage, {
    ...settingsIn(state.form),
    page_id: page.id,
    rows,
  });
  return editorPage(editing, document);
}

function editorPage(editing: Editing, document: string): PageAnswer {
  const { page, request, state, link } = editing;
  // While something is down, posting comes first.
  const isFirst = isTroubled(editing);
  const isWriter = request.may(updateStatusPage);
  return show({
    title: page.name,
    place: 'status-pages',
    drags: true,
    status: state.status,
    ...(link === undefined ? {} : { headers: { 'cache-control': 'no-store' } }),
    main: html`
      <div class="stack">
        ${heading({
          sentence: page.name,
          below: belowOf(editing),
          trail,
          actions: html`
            ${
              page.enabled &&
              linkButton(`/status/${page.slug}`, 'View page', { main: true, symbol: 'see' })
            }
            ${moreActions(html`
              ${menuLink(`/reports?status_page=${page.id}`, 'Report', { symbol: 'calendar' })}
              ${
                request.may(deleteStatusPage) &&
                html`
                  <hr>
                  ${menuLink(`/status-pages/${page.id}/delete`, 'Delete', {
                    symbol: 'delete',
                    danger: true,
                  })}
                `
              }
            `)}
          `,
        })}
        ${formSummary(state)}
        ${isFirst && incidentsCard(editing)}
        ${isWriter ? settingsForm(editing, document) : publishedCard(editing)}
        ${logoForm(editing)}
        ${!isWriter && factsCard(editing)}
        ${!isFirst && incidentsCard(editing)}
      </div>
    `,
  });
}

/** The page's address, and who can see it. */
function belowOf({ page, editor: { base_url, waiting }, request }: Editing): Part {
  const address = addressOf(page, base_url);
  const subscribers = subscribersText(page.subscribers, waiting);
  return joined(
    [
      page.enabled
        ? html`
          <a href="${safeUrl(address)}">
            ${address.replace(/^https?:\/\//, '').replace(/\/$/, '')}
          </a>
        `
        : address,
      page.enabled
        ? `Visible to ${(accessWords[page.access] ?? '').toLowerCase()}${
            page.access === 'link' && !page.has_link ? ', but there is no link yet' : ''
          }`
        : 'Off: no one sees it',
      request.may(listStatusPageSubscribers)
        ? html`<a href="${safeUrl(`/status-pages/${page.id}/subscribers`)}">${subscribers}</a>`
        : subscribers,
    ],
    ' · ',
  );
}

function settingsForm(editing: Editing, document: string): Html | null {
  const { page, request, isChanged } = editing;
  if (!request.may(updateStatusPage)) return null;
  return html`
    <form
      class="columns editor"
      id="editor"
      method="post"
      action="/status-pages/${page.id}"
      data-refreshes
    >
      ${enterSaves}
      <div class="stack">
        ${publishedCard(editing)}
        <div class="folds lines">
          ${addFold(editing)}
          ${lookFold(editing)}
          ${accessFold(editing)}
          ${domainFold(editing)}
        </div>
      </div>
      ${previewFrame(document)}
      <div class="actions form-foot editor-save">
        <p class="soft" role="status">${isChanged ? 'Unsaved changes' : 'Visitors see changes once you save.'}</p>
        ${isChanged && linkButton(`/status-pages/${page.id}`, 'Discard changes')}
        <button
          class="button button-main"
          name="act"
          value="save"
          formaction="/status-pages/${page.id}?pressed=save"${!isChanged && html` data-awaits-change`}
        >
          Save
        </button>
      </div>
    </form>
  `;
}

/** For readers who may not change it. */
function factsCard({ page, request: { may } }: Editing) {
  return may(deleteStatusPage)
    ? null
    : card(
        'facts',
        'Settings',
        null,
        html`
          <dl class="facts">
            <dt>Language</dt>
            <dd>${languageNames[page.language] ?? page.language}</dd>
            <dt>Accent colour</dt>
            <dd>${page.accent ?? 'Default'}</dd>
            <dt>Visible to</dt>
            <dd>${accessWords[page.access] ?? page.access}</dd>
            <dt>Custom domain</dt>
            <dd>
              ${
                page.domain === null
                  ? 'None'
                  : `${page.domain.name}${page.domain.proved_at === null ? ', not connected yet' : ''}`
              }
            </dd>
            <dt>Subscribers</dt>
            <dd>${page.subscribers}</dd>
          </dl>
        `,
      );
}

const edited = forMembers.post('/status-pages/:page_id', async (request) => {
  refuseUnlessMay(request, updateStatusPage);
  const { form } = request;
  const before = await editingOf(request);
  const offered = before.page.offered.map(({ monitor }) => monitor);
  const rows = changedRows(form, before.editor, offered);
  const editing = { ...before, state: freshForm(form), rows, isChanged: true };
  const act = form.value('act');
  // Enter in the search searches, and anywhere else it saves, as the button does.
  const isSearch =
    request.query.pressed === undefined &&
    (form.value('find') ?? '') !== (form.value('found') ?? '');
  if (act === 'save' && !isSearch) return save(editing);
  if (act === 'link') return createLink(editing);
  return act === 'check' ? checkDomain(editing) : shown(editing);
});

async function save(editing: Editing): Promise<PageAnswer> {
  const { page, request, rows } = editing;
  const { form, ask } = request;
  const input = {
    ...settingsIn(form),
    page_id: page.id,
    rows: rows.map(({ kind, id, name }) => ({ [kind]: id, display_name: name })),
  };
  const names = [...settingNames, ...rows.map((_, at) => `rows.${at}.display_name`)];
  const tried = await attempt(form, () => ask(updateStatusPage, input), names);
  if ('refused' in tried)
    return shown({ ...editing, state: atFields(tried.refused, rows), isChanged: true });
  const { access, has_link, domain } = tried.done;
  const said =
    access === 'link' && !has_link
      ? 'Saved. Now create the link.'
      : domain !== null && domain.proved_at === null && domain.name !== page.domain?.name
        ? 'Saved. Now add the DNS record.'
        : 'Saved.';
  return seeOther(`/status-pages/${page.id}`, { said });
}

/** A refusal names a row by its place; in the form each has the id of what it shows. */
function atFields(state: FormState, rows: readonly Row[]): FormState {
  return {
    ...state,
    faults: new Map(
      [...state.faults].map(([key, words]) => {
        const row = rows[Number(/^rows\.(\d+)\./.exec(key)?.[1] ?? -1)];
        return [row === undefined ? key : nameField(row.id), words];
      }),
    ),
  };
}

/** The link is shown in the answer itself: it must not appear in an address or a cookie. */
async function createLink(editing: Editing): Promise<PageAnswer> {
  const { page, request } = editing;
  const { link } = await request.ask(renewStatusPageLink, { page_id: page.id });
  return shown({ ...editing, page: await request.ask(getStatusPage, { page_id: page.id }), link });
}

async function checkDomain(editing: Editing): Promise<PageAnswer> {
  const { page, request } = editing;
  const { form, ask } = request;
  const tried = await attempt(form, () => ask(checkStatusPageDomain, { page_id: page.id }), [
    'domain',
  ]);
  if ('refused' in tried) return shown({ ...editing, state: tried.refused });
  if (!tried.done.proved) return shown({ ...editing, texts: tried.done.found });
  return seeOther(`/status-pages/${page.id}`, {
    said: `${tried.done.domain?.name ?? 'The domain'} is connected.`,
  });
}

function act(
  path: string,
  answer: (editing: Editing, request: MembersRequest) => Promise<PageAnswer>,
): Page {
  return forMembers.post(`/status-pages/:page_id/${path}`, async (request) => {
    refuseUnlessMay(request, updateStatusPage);
    return answer(await editingOf(request), request);
  });
}

const logo: Page = {
  ...act('logo', async (editing, { file, form, ask }) => {
    const { page } = editing;
    const bytes = (await file('logo')) ?? new Uint8Array();
    const input = { page_id: page.id, logo: Buffer.from(bytes).toString('base64') };
    const tried = await attempt(form, () => ask(setStatusPageLogo, input), ['logo']);
    if ('done' in tried) return seeOther(`/status-pages/${page.id}`, { said: 'Logo saved.' });
    const { faults, objections, status } = tried.refused;
    return shown({ ...editing, state: { ...editing.state, faults, objections, status } });
  }),
  takesFile: true,
};

const removeLogo = act('logo/remove', async ({ page }, { ask }) => {
  await ask(removeStatusPageLogo, { page_id: page.id });
  return seeOther(`/status-pages/${page.id}`, { said: 'Logo deleted.' });
});

/** For the editor only: the public address shows the logo to readers who may see the page. */
const showLogo = forMembers.get(
  '/status-pages/:page_id/logo',
  async ({ ask, path: { page_id } }) => {
    const { type, base64 } = await ask(getStatusPageLogo, { page_id });
    return send({
      type,
      body: Buffer.from(base64, 'base64'),
      headers: { 'cache-control': 'private, max-age=3600' },
    });
  },
);

export const editorActs: readonly Page[] = [edited, logo, removeLogo, showLogo];
