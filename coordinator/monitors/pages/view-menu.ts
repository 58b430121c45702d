import type { OutputOf } from '../../../shared/api/operation.ts';
import type { showFrame } from '../../organisations/contract.ts';
import { attempt, hiddenField } from '../../web/forms.ts';
import { type Html, html, icon, safeUrl } from '../../web/html.ts';
import { type MembersRequest, type Page, seeOther } from '../../web/page.ts';
import { moveView, removeView, saveView } from '../contract.ts';
import { cells } from './monitor-table.ts';
import { addressOf, backTo, columns, keptLayout, layoutFrom, type View, viewOf } from './view.ts';

type Saved = OutputOf<typeof showFrame>['views'];

/** How the list is drawn: its rows and its columns. */
export const viewMenu = ({ cookies, address }: MembersRequest, view: View, saved: Saved): Html => {
  const layout = layoutFrom(cookies);
  const rows = (value: string, words: string, chosen: boolean) => html`
    <label><input type="radio" name="rows" value="${value}"${chosen && html` checked`}>${words}</label>
  `;
  return html`
    <details class="list-menu" id="view-menu">
      <summary class="button">View</summary>
      <div class="menu-body card">
      <form class="stack" method="post" action="/monitors/layout">
        ${hiddenField('back', address)}
        <fieldset>
          <legend>Rows</legend>
          ${rows('usual', 'Comfortable', !layout.dense)}
          ${rows('dense', 'Dense', layout.dense)}
        </fieldset>
        <fieldset>
          <legend>Columns</legend>
          ${columns.map(
            (column) =>
              html`
                <label>
                  <input
                    type="checkbox"
                    name="columns[]"
                    value="${column}"${layout.columns.includes(column) && html` checked`}
                  >${cells[column].words}
                </label>
              `,
          )}
        </fieldset>
        <button class="button">Apply</button>
      </form>
      ${savedPart(view, saved)}
      </div>
    </details>
  `;
};

const queryOf = (view: View): string => addressOf(view).replace(/^\/\??/, '');

const viewAct = (act: string, label: string, sign: Html): Html => html`
  <button class="button button-quiet" name="act" value="${act}" aria-label="${label}">
    ${sign}
  </button>
`;

/** The views that this reader saved, and a field for the present one's name. */
const savedPart = (view: View, saved: Saved): Html => html`
  <div>
    <p class="actions">
      <a class="button" href="/certificates">Certificates and domains</a>
      <a class="button" href="/monitors/trash">Trash</a>
    </p>
    <h2>Saved views</h2>
    ${
      saved.length > 0 &&
      html`
        <ul class="plain-list">
          ${saved.map(
            ({ name, query }, at) =>
              html`
                <li>
                  <form class="actions" method="post" action="/monitors/views/change">
                    ${hiddenField('name', name)}
                    <a href="${safeUrl(query === '' ? '/' : `/?${query}`)}">${name}</a>
                    ${at > 0 && viewAct('up', `Move view ${name} up`, icon('upwards'))}
                    ${
                      at < saved.length - 1 &&
                      viewAct('down', `Move view ${name} down`, icon('downwards'))
                    }
                    ${viewAct('remove', `Delete view ${name}`, icon('delete'))}
                  </form>
                </li>
              `,
          )}
        </ul>
      `
    }
    <form class="actions" method="post" action="/monitors/views">
      ${hiddenField('query', queryOf(view))}
      <label for="view-name">Name of this view</label>
      <input id="view-name" name="name" maxlength="60" required autocomplete="off">
      <button class="button">Save view</button>
    </form>
  </div>
`;

export const chooseLayout: Page = {
  method: 'POST',
  path: '/monitors/layout',
  needs: 'member',
  answer: ({ form, with: { baseUrl } }) => {
    const chosen = form.values('columns[]');
    const layout = {
      dense: form.value('rows') === 'dense',
      columns: columns.filter((column) => chosen.includes(column)),
    };
    return seeOther(backTo(form.value('back')), {
      headers: { 'set-cookie': keptLayout(layout, baseUrl().startsWith('https:')) },
    });
  },
};

export const saveThisView: Page = {
  method: 'POST',
  path: '/monitors/views',
  needs: 'member',
  answer: async ({ form, ask }) => {
    const name = form.value('name') ?? '';
    // Read again, so that only an address of the dashboard can be saved.
    const asked = Object.fromEntries(new URLSearchParams(form.value('query') ?? ''));
    const query = queryOf(viewOf(asked));
    const tried = await attempt(form, () => ask(saveView, { name, query }), []);
    const to = query === '' ? '/' : `/?${query}`;
    if ('refused' in tried) return seeOther(to, { said: tried.refused.objections.join(' ') });
    return seeOther(to, { said: `View ${name.trim()} saved.` });
  },
};

export const changeThisView: Page = {
  method: 'POST',
  path: '/monitors/views/change',
  needs: 'member',
  answer: async ({ form, ask }) => {
    const name = form.value('name') ?? '';
    const act = form.value('act');
    if (act === 'up' || act === 'down') {
      await ask(moveView, { name, to: act });
      return seeOther('/', { said: `View ${name} moved ${act}.` });
    }
    await ask(removeView, { name });
    return seeOther('/', { said: `View ${name} deleted.` });
  },
};
