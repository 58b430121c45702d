import type { getChannelChoices } from '../../../../shared/api/inner/inner-channels.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { choiceField, type FormState } from '../web-forms.ts';
import { type Html, html } from '../web-html.ts';

/** What there is to choose from, by name. */
export type Choices = OutputOf<typeof getChannelChoices>;

type Item = Choices['groups'][number];

const sorted = (items: readonly Item[], first: readonly string[]): readonly Item[] => [
  ...items.filter(({ id }) => first.includes(id)),
  ...items.filter(({ id }) => !first.includes(id)),
];

/**
 * Groups and monitors to tick. `first`: the ids that were ticked when the form was opened; they are listed first, because no one reads a long
 * list to its end. Every answer of the form keeps that order, whatever is ticked by then.
 */
export const chosenFields = ({ groups, monitors }: Choices, state: FormState, first: readonly string[]): Html => {
  const list = (name: string, label: string, items: readonly Item[]) =>
    items.length > 0 &&
    html`<div class="chosen-list">${choiceField({ name, label, state, several: true, choices: sorted(items, first).map(({ id, name: called }) => ({ value: id, label: called })) })}</div>`;
  return html`<div class="chosen">${
    groups.length + monitors.length === 0 ? html`<p class="soft">There is nothing to choose yet.</p>` : null
  }${list('groups[]', 'Groups, with whatever is in them then', groups)}${list('monitors[]', 'Monitors', monitors)}</div>`;
};
