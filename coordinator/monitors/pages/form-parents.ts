import type { OutputOf } from '../../../shared/api/operation.ts';
import { isId } from '../../../shared/base/crypto.ts';
import { type Choices, chosenList, fold } from '../../web/elements.ts';
import type { Form } from '../../web/form-data.ts';
import { type FormState, hiddenField, textField } from '../../web/forms.ts';
import { type Html, html, type Part } from '../../web/html.ts';
import { type getMonitorChoices, maxAtOnce } from '../contract.ts';

/** What a monitor depends on, in its form (rule 47). */

type Monitor = {
  readonly id: string;
  readonly depends_on_monitors: readonly string[];
  readonly depends_on_groups: readonly string[];
};

type Offered = Pick<OutputOf<typeof getMonitorChoices>, 'parents' | 'groups' | 'monitors'>;

/** What the form asks for where there are too many to offer all. */
export function parentsAsked(form: Form, saved: readonly string[]) {
  const chosen = [...form.values(names.monitors), ...saved].filter(isId).slice(0, maxAtOnce);
  return { find: form.value(findName) ?? '', chosen };
}

const findName = 'find_parent';

/** Something was typed that was not searched for yet. */
export function isParentSearch(form: Form): boolean {
  return (form.value(findName) ?? '') !== (form.value(foundName) ?? '');
}

const foundName = 'found_parent';

function choicesOf({ parents, groups }: Offered, monitor: Monitor | undefined): Choices {
  return { groups, monitors: parents.filter(({ id }) => id !== monitor?.id) };
}

const names = { monitors: 'depends_on_monitors[]', groups: 'depends_on_groups[]' } as const;

/** Names of fields, as refusals call them, with the fields that they are shown beside. */
export const parentFields = {
  depends_on_monitors: names.monitors,
  depends_on_groups: names.groups,
} as const;

/** As a form has what is saved. */
export function parentValues(monitor: Omit<Monitor, 'id'>) {
  return {
    [names.monitors]: monitor.depends_on_monitors,
    [names.groups]: monitor.depends_on_groups,
  };
}

/** A form without the boxes leaves them; what was deleted meanwhile is nobody's parent. */
export function parentsIn(form: Form, choices: Offered) {
  if (!form.names.includes(names.monitors)) return {};
  const offered = choicesOf(choices, undefined);
  const ticked = (kind: keyof typeof names) =>
    offered[kind].flatMap(({ id }) => (form.values(names[kind]).includes(id) ? [id] : []));
  return { depends_on_monitors: ticked('monitors'), depends_on_groups: ticked('groups') };
}

export function parentsFold(
  choices: Offered,
  state: FormState,
  monitor: Monitor | undefined,
): Part {
  const offered = choicesOf(choices, monitor);
  const isWhole = choices.parents.length === choices.monitors;
  if (isWhole && offered.monitors.length + offered.groups.length === 0) return null;
  const first = [...(monitor?.depends_on_monitors ?? []), ...(monitor?.depends_on_groups ?? [])];
  const ticked = Object.values(names)
    .flatMap((name) => state.form.values(name))
    .filter(Boolean);
  const searched = state.form.value(findName) ?? '';
  const isOpen = searched !== '' || Object.values(names).some((name) => state.faults.has(name));
  return fold({
    title: 'Depends on',
    says:
      ticked.length === 0
        ? 'Hold alerts while a gateway is down'
        : ticked.length === 1
          ? 'One other'
          : `${ticked.length} others`,
    isSet: ticked.length > 0,
    isOpen,
    body: html`
        <p class="soft">
          While one of these is down, alerts of this monitor are held. If it stays down after that,
          it is sent then.
        </p>
        ${hiddenField(names.monitors, '')}
        ${!isWhole && searchField(state)}
        ${lists(offered, state, first, searched)}
    `,
  });
}

function searchField(state: FormState): Html {
  return html`
    <div class="fields" data-refreshes>
      ${textField({
        name: findName,
        label: 'Search monitors',
        state,
        type: 'search',
        required: false,
        autocomplete: 'off',
        placeholder: 'Name, address, group or tag',
      })}
      <button class="button" name="act" value="look" formnovalidate data-stays>Search</button>
    </div>
  `;
}

function lists(
  { groups, monitors }: Choices,
  state: FormState,
  first: readonly string[],
  searched: string,
): Html {
  return html`
    <div class="stack chosen" id="parents" data-refreshed>
      ${searched !== '' && hiddenField(foundName, searched)}
      ${searched !== '' && monitors.length === 0 && html`<p class="soft">No results</p>`}
      ${chosenList(names.groups, 'Groups', 'Filter by name', groups, state, first)}
      ${chosenList(names.monitors, 'Monitors', 'Filter by name, group or tag', monitors, state, first)}
    </div>
  `;
}
