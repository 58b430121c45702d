import {
  checkStatusPageDomain,
  deleteStatusPage,
  renewStatusPageLink,
  updateStatusPage,
} from '../../../shared/api/status-pages.ts';
import { heading, linkButton } from '../../web/elements.ts';
import { inputOf } from '../../web/form-data.ts';
import { attempt, type FormState, refuseUnlessMay } from '../../web/forms.ts';
import { html, type Part, safeUrl } from '../../web/html.ts';
import {
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  send,
  show,
} from '../../web/page.ts';
import { getStatusPageLogo, removeStatusPageLogo, setStatusPageLogo } from '../contract.ts';
import {
  accessWords,
  addressOf,
  card,
  type Editing,
  editingOf,
  languageNames,
  trail,
  type Which,
} from './cards.ts';
import { incidentsCard, isTroubled } from './posts.ts';
import { addCard, addRow, changeRows, offeredCard, publishedCard, publishOffered } from './rows.ts';
import { accessCard, domainCard, logoCard, lookCard, settingNames } from './settings.ts';

const sentenceOf = ({ page: { name, enabled, monitors } }: Editing): string => {
  if (!enabled) return `${name} is switched off.`;
  if (monitors.length === 0) return `${name} shows nothing yet.`;
  return `${name} shows ${monitors.length === 1 ? 'one monitor' : `${monitors.length} monitors`}.`;
};

/** The page's address, and who can see it. */
const belowOf = ({ page, editor: { base_url } }: Editing): Part => {
  const address = addressOf(page, base_url);
  const where = page.enabled
    ? html`
      <a href="${safeUrl(address)}">${address.replace(/^https?:\/\//, '').replace(/\/$/, '')}</a>
    `
    : address;
  return html`
    ${where}. ${
      page.enabled
        ? `Seen by ${(accessWords[page.access] ?? '').toLowerCase().replace('who', 'whoever')}`
        : 'Nobody sees it'
    }${page.access === 'link' && page.enabled && !page.has_link && ': there is no link yet'}.
  `;
};

/** For readers who may not change it. */
const factsCard = ({ page, request: { may } }: Editing) =>
  may(deleteStatusPage)
    ? null
    : card(
        'facts',
        'How it looks',
        null,
        html`
          <dl class="page-facts">
            <dt>Language</dt>
            <dd>${languageNames[page.language] ?? page.language}</dd>
            <dt>Accent colour</dt>
            <dd>${page.accent ?? 'the usual one'}</dd>
            <dt>Seen by</dt>
            <dd>${accessWords[page.access] ?? page.access}</dd>
            <dt>Own domain</dt>
            <dd>
              ${
                page.domain === null
                  ? 'none'
                  : `${page.domain.name}${page.domain.proved_at === null ? ', not proved yet' : ''}`
              }
            </dd>
            <dt>Subscribers</dt>
            <dd>${page.subscribers}</dd>
          </dl>
        `,
      );

export const editorPage = (editing: Editing): PageAnswer => {
  const { page, request, tried, link } = editing;
  // While something is down, posting comes first.
  const isTelling = isTroubled(editing);
  return show({
    title: page.name,
    place: 'status-pages',
    status: tried?.state.status ?? 200,
    ...(link === undefined ? {} : { headers: { 'cache-control': 'no-store' } }),
    main: html`
      <div class="status-page-editor">
        ${heading({
          sentence: sentenceOf(editing),
          below: belowOf(editing),
          trail,
          actions: html`
            ${page.enabled && linkButton(`/status/${page.slug}`, 'See the page', { symbol: 'see' })}
            ${
              request.may(deleteStatusPage) &&
              linkButton(`/status-pages/${page.id}/delete`, 'Delete', { symbol: 'delete' })
            }
          `,
        })}
        <div class="editor-columns">
          <div class="editor-column">
            ${isTelling && incidentsCard(editing)}
            ${publishedCard(editing)}
            ${offeredCard(editing)}
            ${addCard(editing)}
            ${!isTelling && incidentsCard(editing)}
          </div>
          <div class="editor-column">
            ${lookCard(editing)}
            ${factsCard(editing)}
            ${logoCard(editing)}
            ${accessCard(editing)}
            ${domainCard(editing)}
          </div>
        </div>
      </div>
    `,
  });
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

/** The actions of the editor's forms. Each returns to its place in the editor. */

const act = (
  path: string,
  answer: (editing: Editing, request: MembersRequest) => Promise<PageAnswer>,
): Page => ({
  method: 'POST',
  path: `/status-pages/:page_id/${path}`,
  needs: 'member',
  answer: async (request) => {
    refuseUnlessMay(request, updateStatusPage);
    return answer(await editingOf(request), request);
  },
});

const rows = act('rows', async (editing, request) => {
  const { page, editor } = editing;
  const tried = await changeRows(request, page.id, editor.rows);
  if ('refused' in tried) return refusedPage(await editingOf(request), 'rows', tried.refused);
  const asked = request.form.value('act') ?? '';
  if (/^(?:up|down):/.test(asked))
    return seeOther(`/status-pages/${page.id}?moved=${encodeURIComponent(asked)}`);
  return seeOther(`/status-pages/${page.id}`, { said: tried.done });
});

const add = act('add', async ({ page }, request) => {
  const tried = await addRow(request, page.id);
  if ('refused' in tried) return refusedPage(await editingOf(request), 'add', tried.refused);
  const isGroup = request.form.value('act') === 'group';
  const name = request.form.value(isGroup ? 'group_name' : 'monitor_name') ?? '';
  return seeOther(`/status-pages/${page.id}`, {
    said: isGroup
      ? `${name} is a heading now; its monitors wait for names.`
      : `${name} is on the page.`,
  });
});

const offered = act('offered', async ({ page }, request) => {
  const tried = await publishOffered(request, page.id, page.offered);
  if ('refused' in tried) return refusedPage(await editingOf(request), 'offered', tried.refused);
  const said =
    tried.done === 0
      ? 'No name was given, so nothing was published.'
      : `${tried.done} ${tried.done === 1 ? 'is' : 'are'} on the page now.`;
  return seeOther(`/status-pages/${page.id}`, { said });
});

const settings = act('settings', async (editing, { form, ask }) => {
  const { page } = editing;
  const input = {
    ...inputOf(form, ['name', 'slug', 'description', 'accent']),
    enabled: form.value('enabled') === 'true',
    page_id: page.id,
  };
  const tried = await attempt(form, () => ask(updateStatusPage, input), settingNames);
  return 'refused' in tried
    ? refusedPage(editing, 'settings', tried.refused)
    : seeOther(`/status-pages/${page.id}`, { said: 'It is saved.' });
});

const access = act('access', async (editing, { form, ask }) => {
  const { page } = editing;
  const password = form.value('password') ?? '';
  const input = {
    page_id: page.id,
    access: form.value('access') ?? '',
    ...(password === '' ? {} : { password }),
  };
  const tried = await attempt(form, () => ask(updateStatusPage, input), ['access', 'password']);
  if ('refused' in tried) return refusedPage(editing, 'access', tried.refused);
  return seeOther(`/status-pages/${page.id}`, {
    said:
      tried.done.access === 'link' && !tried.done.has_link
        ? 'Nobody sees it until its link is made.'
        : 'It is saved who sees the page.',
  });
});

/**
 * Shown in the answer itself: a link that is shown once must not appear in an address or a cookie.
 */
const link = act('link', async ({ page }, request) => {
  const made = await request.ask(renewStatusPageLink, { page_id: page.id });
  return editorPage({ ...(await editingOf(request)), link: made.link });
});

const domain = act('domain', async (editing, request) => {
  const { form, ask } = request;
  const { page } = editing;
  const asked = form.value('act');
  if (asked === 'check') {
    const tried = await attempt(form, () => ask(checkStatusPageDomain, { page_id: page.id }), [
      'domain',
    ]);
    if ('refused' in tried) return refusedPage(editing, 'domain', tried.refused);
    if (tried.done.proved)
      return seeOther(`/status-pages/${page.id}`, {
        said: `${tried.done.domain?.name ?? 'The domain'} is this page’s now.`,
      });
    return editorPage({ ...(await editingOf(request)), texts: tried.done.found });
  }
  const name = asked === 'remove' ? '' : (form.value('domain') ?? '');
  const tried = await attempt(
    form,
    () => ask(updateStatusPage, { page_id: page.id, domain: name }),
    ['domain'],
  );
  if ('refused' in tried) return refusedPage(editing, 'domain', tried.refused);
  const said =
    tried.done.domain === null
      ? 'It has no domain of its own now.'
      : 'Now write the record that proves it.';
  return seeOther(`/status-pages/${page.id}`, { said });
});

const logo: Page = {
  ...act('logo', async (editing, { file, form, ask }) => {
    const { page } = editing;
    const bytes = (await file('logo')) ?? new Uint8Array();
    const input = { page_id: page.id, logo: Buffer.from(bytes).toString('base64') };
    const tried = await attempt(form, () => ask(setStatusPageLogo, input), ['logo']);
    return 'refused' in tried
      ? refusedPage(editing, 'logo', tried.refused)
      : seeOther(`/status-pages/${page.id}`, { said: 'The page shows this logo.' });
  }),
  takesFile: true,
};

const removeLogo = act('logo/remove', async ({ page }, { ask }) => {
  await ask(removeStatusPageLogo, { page_id: page.id });
  return seeOther(`/status-pages/${page.id}`, { said: 'The page has no logo now.' });
});

/** For the editor only: the public address shows the logo to readers who may see the page. */
const showLogo: Page = {
  method: 'GET',
  path: '/status-pages/:page_id/logo',
  needs: 'member',
  answer: async ({ ask, path: { page_id } }) => {
    const { type, base64 } = await ask(getStatusPageLogo, { page_id });
    return send({
      type,
      body: Buffer.from(base64, 'base64'),
      headers: { 'cache-control': 'private, max-age=3600' },
    });
  },
};

export const editorActs: readonly Page[] = [
  rows,
  add,
  offered,
  settings,
  access,
  link,
  domain,
  logo,
  removeLogo,
  showLogo,
];
