import { deleteStatusPage, getStatusPage } from '../../../../../shared/api/status-pages.ts';
import { refuseUnlessMay } from '../../parts/part-refuse-unless-may.ts';
import { typed } from '../../parts/part-typed-name.ts';
import { type FormState, formSummary, freshForm, textField } from '../../web-forms.ts';
import { html } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web-page.ts';
import { type StatusPage, trail } from './page-status-page-parts.ts';

const deleteForm = ({ id, name, subscribers }: StatusPage, state: FormState): PageAnswer =>
  show({
    title: `Delete ${name}`,
    place: 'status-pages',
    status: state.status,
    main: html`${heading({
      sentence: `Delete ${name}?`,
      below: `What was posted on it goes with it${subscribers > 0 ? `, and ${subscribers === 1 ? 'its subscriber' : `its ${subscribers} subscribers`}` : ''}. Its monitors stay. To hide it for a while, switch it off.`,
      trail: [...trail, { href: `/status-pages/${id}`, name }],
    })}${formSummary(state)}<form class="form" method="post">${textField({
      ...{ name: 'name', label: 'To be sure, type its name', state, autocomplete: 'off', required: true, autofocus: true },
      help: html`<span class="name-to-type">${name}</span>`,
    })}<div class="actions"><button class="button button-danger">${icon('delete')}Delete the page</button>${linkButton(`/status-pages/${id}`, 'Leave it')}</div></form>`,
  });

const read = (request: MembersRequest): Promise<StatusPage> => {
  refuseUnlessMay(request, deleteStatusPage);
  return request.ask(getStatusPage, { page_id: request.path.page_id });
};

const asked: Page = {
  method: 'GET',
  path: '/status-pages/:page_id/delete',
  needs: 'member',
  answer: async (request) => deleteForm(await read(request), freshForm(request.form)),
};

const done: Page = {
  method: 'POST',
  path: '/status-pages/:page_id/delete',
  needs: 'member',
  answer: async (request) => {
    const { form, ask } = request;
    const page = await read(request);
    if (typed(form.value('name') ?? '') !== typed(page.name)) {
      const faults = new Map([['name', 'This is not its name: type it as it stands here.']]);
      return deleteForm(page, { form, faults, objections: [], status: 400 });
    }
    await ask(deleteStatusPage, { page_id: page.id });
    return seeOther('/status-pages', { said: `${page.name} is deleted.` });
  },
};

export const deletePages: readonly Page[] = [asked, done];
