import { createGroup } from '../../../../../shared/api/groups.ts';
import { groupRows, listGroupStandings } from '../../../../../shared/api/inner/inner-groups.ts';
import type { OutputOf } from '../../../../../shared/api/operation.ts';
import { pager } from '../../parts/part-pager.ts';
import { refuseUnlessMay } from '../../parts/part-refuse-unless-may.ts';
import { type State, stateMark, states } from '../../parts/part-states.ts';
import { attempt, type FormState, formSummary, freshForm, textField } from '../../web-forms.ts';
import { type Html, html } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { heading } from '../../web-layout.ts';
import { type MembersRequest, type Page, type PageAnswer, seeOther, show } from '../../web-page.ts';

type Listed = OutputOf<typeof listGroupStandings>;
type Standing = Omit<Listed['items'][number], 'created_at'>;

export const groupState = (status: string): State => states.find((state) => state === status) ?? 'unknown';

const counted: readonly (readonly [key: 'down' | 'verifying' | 'up' | 'pending' | 'paused', words: string])[] = [
  ['down', 'down'],
  ['verifying', 'being verified'],
  ['up', 'up'],
  ['pending', 'waiting'],
  ['paused', 'paused'],
];

/** `2 down, 19 up`. */
export const countsText = (group: Standing): string => {
  const parts = counted.flatMap(([key, words]) => (group[key] === 0 ? [] : [`${group[key]} ${words}`]));
  return parts.length === 0 ? 'nothing in it yet' : parts.join(', ');
};

const rowOf = (group: Listed['items'][number]): Html =>
  html`<tr id="group-${group.id}" data-row><td data-label="Status">${stateMark(groupState(group.status))}</td><td data-label="Group"><span><a class="row-link" href="/groups/${group.id}">${group.name}</a>${group.description !== null && html`<span class="window-near">${group.description}</span>`}</span></td><td data-label="Monitors" class="number">${group.monitors}</td><td data-label="Which are">${countsText(group)}</td></tr>`;

const sentenceOf = ({ items, matching }: Listed): string => {
  const down = items.filter(({ status }) => status === 'down');
  const [first] = down;
  if (first) return down.length === 1 ? `${first.name} is down.` : `${first.name} and ${down.length - 1} more groups are down.`;
  const verifying = items.find(({ status }) => status === 'verifying');
  if (verifying) return `In ${verifying.name} a failure is being verified.`;
  return matching === 1 ? 'Your one group is well.' : `None of your ${matching} groups is down.`;
};

const below =
  'A group has the worst status of the monitors that count in it. Channels, maintenance and status pages can be for a whole group.';

const makeForm = (state: FormState, isFirst: boolean): Html =>
  html`${formSummary(state)}<form class="card begin" method="post" action="/groups">${textField({
    ...{ name: 'name', label: isFirst ? 'Name of the first group' : 'Another group', state, autocomplete: 'off', placeholder: 'Shop' },
  })}<button class="button button-main">${icon('add')}Make it</button></form>`;

const pageOf = async (request: MembersRequest, state: FormState): Promise<PageAnswer> => {
  const { ask, may, query } = request;
  const asked = Number(query.page ?? 1);
  const page = Number.isInteger(asked) && asked > 0 && asked <= 10_000 ? asked : 1;
  const listed = await ask(listGroupStandings, { page });
  const common = { title: 'Groups', place: 'groups', live: state.status === 200, status: state.status } as const;
  const form = may(createGroup) ? makeForm(state, listed.matching === 0) : null;
  if (listed.matching === 0)
    return show({
      ...common,
      main: html`${heading({ sentence: 'No monitor is in a group yet.', below: may(createGroup) ? below : `${below} Members make them; your role may only look.` })}${form}`,
    });
  return show({
    ...common,
    main: html`<div class="window-page">${heading({ sentence: sentenceOf(listed), below: may(createGroup) ? below : `${below} Members change them; your role may only look.` })}
<div class="table-card"><table class="cards"><thead><tr><th scope="col">Status</th><th scope="col">Group</th><th scope="col" class="number">Monitors</th><th scope="col">Which are</th></tr></thead><tbody>${listed.items.map(rowOf)}</tbody></table></div>${pager({ page, size: groupRows, matching: listed.matching, shown: listed.items.length, address: (to) => `/groups?page=${to}` })}${form}</div>`,
  });
};

const listPage: Page = { method: 'GET', path: '/groups', needs: 'member', answer: (request) => pageOf(request, freshForm(request.form)) };

/** Asked for by a name that there is, it leads to that one. */
const make: Page = {
  method: 'POST',
  path: '/groups',
  needs: 'member',
  answer: async (request) => {
    refuseUnlessMay(request, createGroup);
    const { ask, form } = request;
    const tried = await attempt(form, () => ask(createGroup, { name: form.value('name') ?? '' }), ['name']);
    if ('refused' in tried) return pageOf(request, tried.refused);
    return seeOther(`/groups/${tried.done.id}`);
  },
};

export const groupListPages: readonly Page[] = [listPage, make];
