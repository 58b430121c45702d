import { heading, linkButton } from './elements.ts';
import type { Form } from './form-data.ts';
import { hiddenField } from './forms.ts';
import { type Html, html, icon, safeUrl } from './html.ts';
import { type Page, type PageAnswer, type PageRequest, show } from './page.ts';

/** Objects that a configuration file manages: pages say so, and ask before a change by hand. */

const objects = /^\/(?:monitors|groups|maintenance|alerts|status-pages)\/:(\w+)/;

/** Changes monitors that are selected in a list. */
const several = '/monitors/change';

/** The ids of the objects that a page is about, if a file could manage them. */
export function objectsOf(
  { path }: Pick<Page, 'path'>,
  { path: values, form }: Pick<PageRequest, 'path' | 'form'>,
): readonly string[] {
  if (path === several) return form.values('monitors[]');
  const object = values[objects.exec(path)?.[1] ?? ''];
  return object === undefined ? [] : [object];
}

/** Posts that change what a file says. A page that deletes asks by itself, below the notice. */
const changes = /\/:\w+(?:\/(?:edit|pause|resume|add|start|end|logo|logo\/remove))?$/;
/** What a form asks for without being saved. */
const tries = ['look', 'more', 'try', 'preview'];
const agreed = 'change_managed';

export function mustAsk({ method, path }: Pick<Page, 'method' | 'path'>, form: Form): boolean {
  return (
    method === 'POST' &&
    (path === several ? changesFile(form) : changes.test(path)) &&
    !tries.includes(form.value('act') ?? '') &&
    form.value(agreed) === undefined
  );
}

/** Mutes and maintenance are of people, not of the file. What deletes is asked for in two steps. */
function changesFile(form: Form): boolean {
  return (
    !['mute', 'unmute', 'maintenance'].includes(form.value('change') ?? '') &&
    form.value('sure') === undefined
  );
}

/** The form once more, with a button that says yes. */
export function askFirst(file: string, { address, form }: PageRequest): PageAnswer {
  return show({
    status: 409,
    title: 'Managed by a file',
    main: html`
      ${heading({
        sentence: `${file}/antipode.yaml manages ${address === several ? 'some of these' : 'this'}`,
        below: 'The next apply of the file undoes what you change here. Nothing was saved yet.',
      })}
      <form method="post" action="${safeUrl(address)}" class="actions">
        ${form.names.flatMap((name) => form.values(name).map((value) => hiddenField(name, value)))}
        ${hiddenField(agreed, 'yes')}
        <button class="button button-primary">Change it anyway</button>
        ${linkButton(address === several ? '/' : address.replace(/\/(?:pause|resume|start|end|logo|logo\/remove)$/, ''), 'Cancel')}
      </form>
    `,
  });
}

export function managedNotice(file: string): Html {
  return html`
  <div class="notice row" id="managed">
    ${icon('edit')}
    <div>
      <p class="notice-title">Managed by ${file}/antipode.yaml</p>
      <p>Change it there: the next apply undoes what is changed here.</p>
    </div>
  </div>
`;
}
