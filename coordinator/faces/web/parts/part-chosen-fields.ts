import type { OutputOf } from '../../../../shared/api/api-operation.ts';
import type { getChannelChoices } from '../../../../shared/api/inner/inner-channels.ts';
import { choiceField, type FormState } from '../web-forms.ts';
import { type Html, html } from '../web-html.ts';

/** What there is to choose from, by name. */
export type Choices = OutputOf<typeof getChannelChoices>;

type Item = Choices['groups'][number];

/** Those that are ticked come first: of a long list nobody sees the end. */
const tickedFirst = (items: readonly Item[], ticked: readonly string[]): readonly Item[] => [
  ...items.filter(({ id }) => ticked.includes(id)),
  ...items.filter(({ id }) => !ticked.includes(id)),
];

/** Groups and monitors to tick. */
export const chosenFields = ({ groups, monitors }: Choices, state: FormState): Html => {
  const list = (name: string, label: string, items: readonly Item[]) =>
    items.length > 0 &&
    html`<div class="chosen-list">${choiceField({ name, label, state, several: true, choices: tickedFirst(items, state.form.values(name)).map(({ id, name: called }) => ({ value: id, label: called })) })}</div>`;
  return html`<div class="chosen">${
    groups.length + monitors.length === 0 ? html`<p class="soft">There is nothing to choose yet.</p>` : null
  }${list('groups[]', 'Groups, with whatever is in them then', groups)}${list('monitors[]', 'Monitors', monitors)}</div>`;
};
