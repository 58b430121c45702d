import {
  checkStatusPageDomain,
  deleteStatusPage,
  getStatusPage,
  renewStatusPageLink,
  updateStatusPage,
} from '../../../shared/api/status-pages.ts';
import { formOf, inputOf, noForm } from '../../web/form-data.ts';
import { attempt, checkField, choiceField, type FormState, refuseUnlessMay, selectField, textArea, textField } from '../../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../../web/html.ts';
import { heading, linkButton, notice } from '../../web/layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, send, show } from '../../web/page.ts';
import { getStatusPageEditor, getStatusPageLogo, removeStatusPageLogo, setStatusPageLogo } from '../contract.ts';
import { accessWords, addressOf, card, type Editing, languageNames, stateOf, summaryOf, trail, type Which } from './cards.ts';
import { incidentsCard } from './posts.ts';
import { addCard, addRow, changeRows, offeredCard, publishedCard, publishOffered } from './rows.ts';

/** Appearance: its words, its colour, its logo. */

export const settingNames = ['name', 'slug', 'description', 'language', 'accent', 'enabled'] as const;

const swatch = (accent: string | null): Html | null =>
  accent === null
    ? null
    : html`<svg class="accent-swatch" viewBox="0 0 20 20" aria-hidden="true"><rect width="20" height="20" rx="4" fill="${accent}"></rect></svg>`;

const languages = Object.entries(languageNames).map(([value, label]) => ({ value, label }));

export const lookCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (!request.may(updateStatusPage)) return null;
  const { name, slug, description, language, accent, enabled } = page;
  const state = stateOf(editing, 'settings', formOf({ name, slug, description, language, accent, enabled: String(enabled) }));
  return card(
    'look',
    'How it looks',
    null,
    html`${summaryOf(editing, 'settings')}<form class="form" method="post" action="/status-pages/${page.id}/settings">
${textField({ name: 'name', label: 'Name', state, required: true, autocomplete: 'off' })}
${textArea({ name: 'description', label: 'What it is about', state, rows: 2, required: false, help: 'Shown below the name.' })}
${textField({ name: 'slug', label: 'Address', state, required: true, autocomplete: 'off', help: html`${editing.editor.base_url}/status/… Links to the old address lead nowhere once it is changed.` })}
${selectField({ name: 'language', label: 'Language', state, choices: languages, help: 'Of the words that the page itself says, and of the usual words of a post.' })}
<div class="accent-field">${swatch(accent)}${textField({ name: 'accent', label: 'Accent colour', state, required: false, autocomplete: 'off', placeholder: '#0a5bb5', help: 'For links and the line at the top; dark enough to be read on white. In the dark it is made lighter by itself.' })}</div>
${checkField({ name: 'enabled', label: 'Published', state, help: 'Switched off, it answers as if it did not exist.' })}
<div class="actions"><button class="button button-main">Save how it looks</button></div></form>`,
  );
};

export const logoCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (!request.may(setStatusPageLogo)) return null;
  const state = stateOf(editing, 'logo', noForm);
  const fault = state.faults.get('logo');
  return card(
    'logo',
    'Logo',
    null,
    html`${summaryOf(editing, 'logo')}${
      page.logo !== null &&
      html`<p class="logo-now"><img src="${safeUrl(`/status-pages/${page.id}/logo?v=${page.logo}`)}" alt="The logo of ${page.name}"></p>`
    }<form class="form" method="post" action="/status-pages/${page.id}/logo" enctype="multipart/form-data"><div class="field"><label for="field-logo">${page.logo === null ? 'A picture' : 'Another picture'}</label><input type="file" id="field-logo" name="logo" accept="image/png,image/jpeg,image/webp" required aria-describedby="field-logo-help${fault !== undefined && ' field-logo-fault'}"${fault !== undefined && html` aria-invalid="true"`}><p class="field-help" id="field-logo-help">PNG, JPEG or WebP of at most 100 KB. It is shown 40 pixels high.</p>${fault !== undefined && html`<p class="field-fault" id="field-logo-fault">${icon('down')}${fault}</p>`}</div><div class="actions"><button class="button">Show this logo</button></div></form>${
      page.logo !== null &&
      html`<form method="post" action="/status-pages/${page.id}/logo/remove"><button class="button button-quiet">${icon('delete')}Take the logo away</button></form>`
    }`,
  );
};

/** Who sees it, and at which address. */

const copyable = (text: string): Html =>
  html`<p class="copyable"><code>${text}</code><button class="button" type="button" data-copy="${text}" hidden>${icon('copy')}Copy</button></p>`;

const linkPart = ({ page, link }: Editing): Html | null => {
  if (page.access !== 'link') return null;
  if (link !== undefined)
    return html`<div class="stack" id="link">${notice('information', 'This link is shown only now.', 'Whoever has it sees the page, until another is made. Links that were made before lead nowhere.')}${copyable(link)}</div>`;
  return html`<div class="stack" id="link">${
    page.has_link
      ? html`<p class="soft">A link was made; whoever has it sees the page. It cannot be shown again.</p>`
      : notice('verifying', 'There is no link yet.', 'Nobody sees the page until one is made.')
  }<form method="post" action="/status-pages/${page.id}/link"><button class="button">${icon('share')}${page.has_link ? 'Make another link' : 'Make the link'}</button></form></div>`;
};

export const accessCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (!request.may(renewStatusPageLink)) return null;
  const state = stateOf(editing, 'access', formOf({ access: page.access }));
  return card(
    'access',
    'Who sees it',
    'Its feeds, calendar and badges are as open or as closed as the page.',
    html`${summaryOf(editing, 'access')}<form class="form" method="post" action="/status-pages/${page.id}/access">${choiceField({
      ...{ name: 'access', label: 'It is seen by', state },
      choices: [
        { value: 'public', label: 'Everybody' },
        { value: 'password', label: 'Who knows a password' },
        { value: 'link', label: 'Who has a link' },
      ],
    })}<div class="password-part">${textField({
      ...{
        name: 'password',
        label: page.has_password ? 'Another password' : 'The password',
        type: 'password',
        autocomplete: 'new-password',
      },
      ...{ state, required: false },
      help: page.has_password
        ? 'There is one already; left empty it stays. With another one everybody is asked anew.'
        : 'Of at least 8 characters, for all who shall see the page.',
    })}</div><div class="actions"><button class="button">Save who sees it</button></div></form>${linkPart(editing)}`,
  );
};

const recordTable = ({ record_name, record_text }: { readonly record_name: string; readonly record_text: string }): Html =>
  html`<dl class="record"><dt>Kind</dt><dd><code>TXT</code></dd><dt>Name</dt><dd>${copyable(record_name)}</dd><dt>Text</dt><dd>${copyable(record_text)}</dd></dl>`;

const foundThere = (texts: readonly string[] | undefined): Html | null => {
  if (texts === undefined) return null;
  return texts.length === 0
    ? notice(
        'verifying',
        'There is no such record yet.',
        'DNS was asked just now. A new record can take some minutes, with some providers hours.',
      )
    : notice(
        'verifying',
        'There is a record, and it says something else.',
        html`It says: ${texts.map((text) => html`<code>${text}</code> `)}`,
      );
};

export const domainCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (!request.may(updateStatusPage) || !request.may(checkStatusPageDomain)) return null;
  const { domain } = page;
  const state = stateOf(editing, 'domain', formOf({ domain: domain?.name }));
  const host = new URL(editing.editor.base_url).host;
  const act = (name: string, words: string, quiet = false) =>
    html`<button class="button${quiet && ' button-quiet'}" name="act" value="${name}" formnovalidate>${words}</button>`;
  return card(
    'domain',
    'A domain of its own',
    domain?.proved_at ? null : 'Such as status.example.com. A record in its DNS proves that it is yours.',
    html`${summaryOf(editing, 'domain')}${
      domain?.proved_at &&
      notice(
        'up',
        html`${domain.name} is this page’s.`,
        html`Proved ${request.times.day(domain.proved_at)}. It shows this page alone; nobody signs in there. Keep the record in DNS: it is checked each week, and after a month without it the domain is released.`,
      )
    }<form class="form" method="post" action="/status-pages/${page.id}/domain">${textField({
      ...{
        name: 'domain',
        label: 'Domain',
        state,
        autocomplete: 'off',
        inputmode: 'url',
        required: false,
        placeholder: 'status.example.com',
      },
    })}<div class="actions">${act('save', domain === null ? 'Take this domain' : 'Change it')}${domain !== null && act('remove', 'Take it away', true)}</div></form>${
      domain !== null &&
      domain.proved_at === null &&
      html`<div class="stack" id="record"><p>Write this into the DNS of ${domain.name}:</p>${recordTable(domain)}${foundThere(editing.texts)}<form method="post" action="/status-pages/${page.id}/domain"><button class="button" name="act" value="check">${icon('again')}Check now</button></form></div>`
    }${
      domain !== null &&
      html`<p class="soft">Then let the domain lead to <code>${host}</code> (a CNAME), and let the proxy there answer for it with a certificate.</p>`
    }`,
  );
};

const sentenceOf = ({ page: { name, enabled, monitors } }: Editing): string => {
  if (!enabled) return `${name} is switched off.`;
  if (monitors.length === 0) return `${name} shows nothing yet.`;
  return `${name} shows ${monitors.length === 1 ? 'one monitor' : `${monitors.length} monitors`}.`;
};

/** The page's address, and who can see it. */
const belowOf = ({ page, editor: { base_url } }: Editing): Part => {
  const address = addressOf(page, base_url);
  const where = page.enabled ? html`<a href="${safeUrl(address)}">${address.replace(/^https?:\/\//, '').replace(/\/$/, '')}</a>` : address;
  return html`${where}. ${page.enabled ? `Seen by ${(accessWords[page.access] ?? '').toLowerCase().replace('who', 'whoever')}` : 'Nobody sees it'}${page.access === 'link' && page.enabled && !page.has_link && ': there is no link yet'}.`;
};

/** For readers who may not change it. */
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
  // While something is down, posting comes first.
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

/** The actions of the editor's forms. Each returns to its place in the editor. */

const act = (path: string, answer: (editing: Editing, request: MembersRequest) => Promise<PageAnswer>): Page => ({
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
  if (/^(?:up|down):/.test(asked)) return seeOther(`/status-pages/${page.id}?moved=${encodeURIComponent(asked)}`);
  return seeOther(`/status-pages/${page.id}`, { said: tried.done });
});

const add = act('add', async ({ page }, request) => {
  const tried = await addRow(request, page.id);
  if ('refused' in tried) return refusedPage(await editingOf(request), 'add', tried.refused);
  const isGroup = request.form.value('act') === 'group';
  const name = request.form.value(isGroup ? 'group_name' : 'monitor_name') ?? '';
  return seeOther(`/status-pages/${page.id}`, {
    said: isGroup ? `${name} is a heading now; its monitors wait for names.` : `${name} is on the page.`,
  });
});

const offered = act('offered', async ({ page }, request) => {
  const tried = await publishOffered(request, page.id, page.offered);
  if ('refused' in tried) return refusedPage(await editingOf(request), 'offered', tried.refused);
  const said =
    tried.done === 0 ? 'No name was given, so nothing was published.' : `${tried.done} ${tried.done === 1 ? 'is' : 'are'} on the page now.`;
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
  const input = { page_id: page.id, access: form.value('access') ?? '', ...(password === '' ? {} : { password }) };
  const tried = await attempt(form, () => ask(updateStatusPage, input), ['access', 'password']);
  if ('refused' in tried) return refusedPage(editing, 'access', tried.refused);
  return seeOther(`/status-pages/${page.id}`, {
    said:
      tried.done.access === 'link' && !tried.done.has_link ? 'Nobody sees it until its link is made.' : 'It is saved who sees the page.',
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
    const tried = await attempt(form, () => ask(checkStatusPageDomain, { page_id: page.id }), ['domain']);
    if ('refused' in tried) return refusedPage(editing, 'domain', tried.refused);
    if (tried.done.proved)
      return seeOther(`/status-pages/${page.id}`, { said: `${tried.done.domain?.name ?? 'The domain'} is this page’s now.` });
    return editorPage({ ...(await editingOf(request)), texts: tried.done.found });
  }
  const name = asked === 'remove' ? '' : (form.value('domain') ?? '');
  const tried = await attempt(form, () => ask(updateStatusPage, { page_id: page.id, domain: name }), ['domain']);
  if ('refused' in tried) return refusedPage(editing, 'domain', tried.refused);
  const said = tried.done.domain === null ? 'It has no domain of its own now.' : 'Now write the record that proves it.';
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
    return send({ type, body: Buffer.from(base64, 'base64'), headers: { 'cache-control': 'private, max-age=3600' } });
  },
};

export const editorActs: readonly Page[] = [rows, add, offered, settings, access, link, domain, logo, removeLogo, showLogo];
