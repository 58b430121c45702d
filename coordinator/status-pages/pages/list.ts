import type { OutputOf } from '../../../shared/api/operation.ts';
import {
  createStatusPage,
  deleteStatusPage,
  getStatusPage,
} from '../../../shared/api/status-pages.ts';
import { confirm } from '../../web/confirm.ts';
import { heading, linkButton, moreLink, nothing, stateMark } from '../../web/elements.ts';
import { inputOf } from '../../web/form-data.ts';
import {
  type FormState,
  formSummary,
  refuseUnlessMay,
  selectField,
  textField,
  typed,
} from '../../web/forms.ts';
import { type Html, html, icon } from '../../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { number, stacked, stepTable } from '../../web/tables.ts';
import { listStatusPageOverviews } from '../contract.ts';
import { accessWords, languageNames, type StatusPage, trail } from './cards.ts';

export const deletePages = forMembers.form('/status-pages/:page_id/delete', async (request) => {
  refuseUnlessMay(request, deleteStatusPage);
  const { ask, form, path } = request;
  const page = await ask(getStatusPage, { page_id: path.page_id });
  return {
    shown: (state) => deleteForm(page, state),
    act: async () => {
      if (typed(form.value('name') ?? '') !== typed(page.name)) {
        const faults = new Map([['name', 'The name does not match.']]);
        return deleteForm(page, { form, faults, objections: [], status: 400 });
      }
      await ask(deleteStatusPage, { page_id: page.id });
      return seeOther('/status-pages', { said: `${page.name} deleted.` });
    },
  };
});

function deleteForm({ id, name, subscribers }: StatusPage, state: FormState): PageAnswer {
  return confirm({
    title: `Delete ${name}`,
    place: 'status-pages',
    below: `This deletes its posts${subscribers > 0 ? ` and ${subscribers === 1 ? 'its subscriber' : `its ${subscribers} subscribers`}` : ''}. Its monitors stay. To hide the page for a while, switch it off.`,
    trail: [...trail, { href: `/status-pages/${id}`, name }],
    state,
    typed: name,
    act: 'Delete page',
  });
}

const fields = ['name', 'slug', 'language'] as const;

function form(state: FormState, baseUrl: string, beside: Html | null = null): Html {
  return html`
  ${formSummary(state)}
  <form class="form" method="post" action="/status-pages/new">
    ${textField({
      name: 'name',
      label: 'Name',
      state,
      required: true,
      autocomplete: 'off',
      placeholder: 'Shop status',
      help: 'The title of the page.',
    })}
    ${textField({
      name: 'slug',
      label: 'Address',
      state,
      required: true,
      autocomplete: 'off',
      placeholder: 'shop',
      help: html`
        <code>${baseUrl}/status/…</code> Lower-case letters, digits and dashes.
      `,
    })}
    ${selectField({
      name: 'language',
      label: 'Language',
      state,
      choices: Object.entries(languageNames).map(([value, label]) => ({ value, label })),
      help: 'Of the page itself and of suggested posts.',
    })}
    <div class="actions"><button class="button button-main">Create page</button>${beside}</div>
  </form>
`;
}

const listPage = forMembers.get('/status-pages', async (request) => {
  const { ask, may, query } = request;
  const { cursor } = query;
  const { items, next_cursor } = await ask(listStatusPageOverviews, {
    limit: 100,
    ...(cursor === undefined ? {} : { cursor }),
  });
  const common = { title: 'Status pages', place: 'status-pages' } as const;
  if (items.length === 0 && cursor === undefined)
    return show({ ...common, main: beginning(request) });
  return show({
    ...common,
    main: html`
        ${heading({
          sentence: sentenceOf(items, next_cursor !== null),
          below: 'What visitors see of your monitors, under names that you choose.',
          actions:
            may(createStatusPage) &&
            html`
              <a class="button button-main" href="/status-pages/new" data-new>
                ${icon('add')}New page
              </a>
            `,
        })}
        ${stepTable(items.map((each) => rowOf(each, request.with.baseUrl())))}
        ${
          next_cursor !== null &&
          moreLink(`/status-pages?cursor=${encodeURIComponent(next_cursor)}`, 'More')
        }
      `,
  });
});

function beginning({ may }: MembersRequest): Html {
  return html`
    ${heading({ sentence: 'No status pages yet' })}
    ${nothing(
      'status-pages',
      html`
        A status page shows visitors what works, under names that you choose. It never shows
        addresses, nor anything unconfirmed. <a href="/docs/status-pages">How to show one</a>
      `,
      may(createStatusPage) &&
        linkButton('/status-pages/new', 'New status page', { main: true, symbol: 'add' }),
    )}
  `;
}

type Overview = OutputOf<typeof listStatusPageOverviews>['items'][number];

function sentenceOf(items: readonly Overview[], more: boolean): string {
  const on = items.filter(({ enabled }) => enabled).length;
  if (more) return `More than ${items.length} status pages`;
  if (on === items.length)
    return on === 1 ? 'One status page is published' : `${on} status pages are published`;
  return `${on} of ${items.length} status pages ${on === 1 ? 'is' : 'are'} published`;
}

function rowOf(each: Overview, baseUrl: string) {
  const { id, name, slug, domain, access, monitors, subscribers } = each;
  return {
    id: `page-${id}`,
    State: stateOf(each),
    Page: stacked(
      html`<a class="row-link" href="/status-pages/${id}">${name}</a>`,
      domain ?? `${new URL(baseUrl).host}/status/${slug}`,
    ),
    'Visible to': accessWords[access] ?? access,
    Monitors: number(monitors),
    Subscribers: number(subscribers),
  };
}

/** As visitors see it. */
function stateOf({ enabled, monitors, down }: Overview): Html {
  if (!enabled) return stateMark('paused', 'Off');
  if (monitors === 0) return stateMark('pending', 'Empty');
  return down === 0 ? stateMark('up') : stateMark('down', `${down} down`);
}

const newPages = forMembers.form('/status-pages/new', (request) => ({
  fresh: () => refuseUnlessMay(request, createStatusPage),
  shown: (state) => newForm(request, state),
  fields,
  act: async () => {
    const input = inputOf(request.form, ['name', 'slug']);
    const { id, name } = await request.ask(createStatusPage, input);
    return seeOther(`/status-pages/${id}`, { said: `${name} created. Now choose what it shows.` });
  },
}));

function newForm({ with: { baseUrl } }: MembersRequest, state: FormState): PageAnswer {
  return show({
    title: 'New status page',
    place: 'status-pages',
    status: state.status,
    main: html`
      ${heading({
        sentence: 'New status page',
        below: 'You choose what it shows next.',
        trail,
      })}
      ${form(state, baseUrl(), linkButton('/status-pages', 'Cancel'))}
    `,
  });
}

export const statusPageList: readonly Page[] = [listPage, ...newPages];
