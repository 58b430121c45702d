import { getStatusPageLogo, removeStatusPageLogo, setStatusPageLogo } from '../../../../../shared/api/inner/inner-status-pages.ts';
import { checkStatusPageDomain, renewStatusPageLink, updateStatusPage } from '../../../../../shared/api/status-pages.ts';
import { refuseUnlessMay } from '../../parts/part-refuse-unless-may.ts';
import { inputOf } from '../../web-form-data.ts';
import { attempt } from '../../web-forms.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, send } from '../../web-page.ts';
import { settingNames } from './page-status-page-appearance.ts';
import { editingOf, editorPage, refusedPage } from './page-status-page-editor.ts';
import type { Editing } from './page-status-page-parts.ts';
import { addRow, changeRows, publishOffered } from './page-status-page-published.ts';

/** What the forms of the editor do. Each goes back to the editor, at the place where it was pressed. */

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

/** Shown in the answer itself: a link that is shown once may stand in no address and no cookie. */
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

/** For the editor alone: the public address shows it to those who may see the page. */
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
