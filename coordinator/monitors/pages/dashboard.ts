import { acknowledgeIncident } from '../../../shared/api/incidents.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { capital, countInWords, restOf, sentenceOf } from '../../../shared/base/text.ts';
import { isKind } from '../../../shared/checks/kinds.ts';
import { acknowledgeForm } from '../../incidents/pages/list.ts';
import { firstSteps } from '../../organisations/pages/parts.ts';
import {
  chips,
  continentOrder,
  countText,
  heading,
  stateMark,
  stateOf,
  stateWords,
} from '../../web/elements.ts';
import { filterEnds, filterMenu } from '../../web/filter.ts';
import { formOf } from '../../web/form-data.ts';
import { attempt, freshForm, hiddenField, textField } from '../../web/forms.ts';
import { type Html, html, icon, joined, type Part, query, safeUrl } from '../../web/html.ts';
import { menuLink, menuTitle, moreActions } from '../../web/menu.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../../web/page.ts';
import { witnessLine } from '../../web/witnesses.ts';
import {
  changeMonitors,
  listDashboard,
  listFilters,
  nameMonitors,
  noGroup,
  type StatusRow,
  statusRows,
  undoChange,
} from '../contract.ts';
import { front } from './front.ts';
import {
  type Dashboard,
  type GroupChoice,
  kindWord,
  monitorTable,
  muteInputOf,
} from './monitor-table.ts';
import { addressOf, backTo, inputOf, isNarrowed, unfiltered, type View, viewOf } from './view.ts';

type Filters = OutputOf<typeof listFilters>['items'];

export const dashboard: Page = {
  method: 'GET',
  path: '/',
  needs: 'member',
  stranger: front,
  answer: async (request) => {
    const { ask, may, times, now } = request;
    const view = viewOf(request.query);
    const { sort: _sort, page: _page, ...filters } = inputOf(view);
    const [shown, offered, steps] = await Promise.all([
      ask(listDashboard, inputOf(view)),
      ask(listFilters, filters),
      firstSteps(request),
    ]);
    const common = { title: titleOf(shown), place: 'monitors', live: true } as const;
    if (shown.counts.all === 0 && !isNarrowed(view))
      return show({ ...common, main: html`${beginning(request)}${steps}` });
    return show({
      ...common,
      main: html`
        ${heading({
          sentence: headline(shown, view),
          // Without a full stop, which would move at each tick.
          below: html`
            ${view.status === null && restOf(overall(shown))}${' '}
            <span class="updated">Updated ${times.ago(now)}</span>
          `,
          actions:
            may(createMonitor) &&
            html`
              <a class="button button-main beside-bar" href="/monitors/new" data-new>
                ${icon('add')}New monitor
              </a>
            `,
        })}
        ${steps}
        ${failingPart(shown, view, request)}
        <div class="row filters">
          ${statusChips(shown, view)}
          ${search(view)}
          ${offeredFilters(offered.items, view)}
          ${moreActions(html`
            ${menuLink('/certificates', 'Certificates and domains', { symbol: 'lock' })}
            ${menuLink('/monitors/trash', 'Trash', { symbol: 'delete' })}
          `)}
          ${activeFilters(offered.items, view)}
        </div>
        ${shown.items.length === 0 ? nothingFound : monitorTable(request, shown, view)}
        ${observingProbes(shown)}
      `,
    });
  },
};

/** As the sentences of a headline take it: the names of those in trouble by their status. */
function overall({ counts, failing }: Dashboard) {
  const named = (status: string) =>
    failing.flatMap((each) => (each.status === status ? [each.name] : [])).slice(0, 3);
  return { counts, down: named('down'), verifying: named('verifying') };
}

const statusWords: Readonly<Record<StatusRow, string>> = {
  down: 'down',
  verifying: 'being verified',
  up: 'up',
  maintenance: 'in maintenance',
  pending: 'pending',
  paused: 'paused',
};

/** Of what the list is narrowed to. */
function headline(shown: Dashboard, view: View): string {
  const { counts, others } = shown;
  const { status, warning } = view;
  if (counts.all === 0) return 'No monitors match';
  if (warning === null && (status === null || status === 'down'))
    return isPart(view)
      ? [sentenceOf(overall(shown), 'Everything shown'), ...othersInWords(others)].join('. ')
      : sentenceOf(overall(shown));
  const isOfWarnings = warning !== null || status === null;
  const count = isOfWarnings ? counts.warned : counts[status];
  const who = `${count === 0 ? 'None' : capital(countInWords(count))} of ${monitorsIn(counts.all)}`;
  return isOfWarnings
    ? `${who} ${count > 1 ? 'have' : 'has'} warnings`
    : `${who} ${count > 1 ? 'are' : 'is'} ${statusWords[status]}`;
}

function monitorsIn(count: number): string {
  return count === 1 ? 'one monitor' : `${countText(count)} monitors`;
}

/** What fails and is not in the list. */
function troubleOf({ counts, others }: Dashboard, view: View): Dashboard['others'] {
  return isAside(view)
    ? { down: counts.down + others.down, verifying: counts.verifying + others.verifying }
    : others;
}

/** Whether the list is narrowed to what does not fail. */
function isAside({ status, warning }: View): boolean {
  return warning !== null || (status !== null && status !== 'down' && status !== 'verifying');
}

/** Whether monitors are left out of the counts. */
function isPart(view: View): boolean {
  return isNarrowed({ ...view, status: null, warning: null });
}

function othersInWords({ down, verifying }: Dashboard['others']): readonly string[] {
  return [...otherIs(down, 'down'), ...otherIs(verifying, 'being verified')];
}

function otherIs(count: number, words: string): readonly string[] {
  return count === 0
    ? []
    : [`${countText(count)} ${count === 1 ? 'other is' : 'others are'} ${words}`];
}

function monitorsInWords(count: number): string {
  return count === 1 ? 'One monitor' : `${capital(countInWords(count))} monitors`;
}

/** The browser's tab shows what matters most. */
function titleOf(shown: Dashboard): string {
  const { counts } = shown;
  const { down, verifying } = overall(shown);
  if (counts.down > 0)
    return counts.down === 1 ? `Down: ${down[0] ?? ''}` : `Down: ${countText(counts.down)}`;
  if (counts.verifying > 0)
    return counts.verifying === 1
      ? `Verifying: ${verifying[0] ?? ''}`
      : `Verifying: ${countText(counts.verifying)}`;
  const others = shown.others.down + shown.others.verifying;
  return counts.up === 0 || others > 0 ? 'Monitors' : 'All up';
}

/**
 * What fails, above the list in which it also stands: two lines each. Only the first line is said
 * by screen readers when it changes; the times below it tick.
 */
function failingPart(shown: Dashboard, view: View, request: MembersRequest): Html {
  const { counts } = shown;
  const count = isAside(view) ? 0 : counts.down + counts.verifying;
  const { causes, failing } = count > 0 ? shown : { causes: [], failing: [] };
  const folded = causes.reduce((sum, { down }) => sum + down, 0);
  return html`
    <section class="table-card failing" id="failing">
      <p class="${count > 0 ? 'unseen' : 'row tight failing-head'}" role="status">
        ${count > 0 ? troubleWords(counts) : notShown(shown, view)}
      </p>
      ${
        failing.length + folded > 0 &&
        html`
          <ul>
            ${causes.map((each) => causeRow(each, request))}
            ${failing.map((each) => failingRow(each, request))}
          </ul>
        `
      }
      ${
        count > failing.length + folded &&
        html`
          <p class="row tight failing-head">
            <a href="${safeUrl(addressOf(view, { status: null, sort: 'state' }))}">
              Show all ${countText(count)}
            </a>
          </p>
        `
      }
    </section>
  `;
}

function troubleWords({ down, verifying }: Dashboard['others']): string {
  return [
    ...(down > 0 ? [`${countText(down)} down`] : []),
    ...(verifying > 0 ? [`${countText(verifying)} verifying`] : []),
  ].join(', ');
}

/** Where nothing that is shown fails. */
function notShown(shown: Dashboard, view: View): Html {
  const trouble = troubleOf(shown, view);
  const count = trouble.down + trouble.verifying;
  if (count === 0) return stateMark('up', shown.counts.up > 0 ? 'All up' : 'Nothing is down');
  const mark = isAside(view)
    ? stateMark(trouble.down > 0 ? 'down' : 'verifying', troubleWords(trouble))
    : stateMark('up', 'All shown are up');
  return html`
    ${mark}
    <a href="${safeUrl(addressOf(view, { ...unfiltered, sort: 'state' }))}">
      ${isAside(view) ? 'Show' : `${countText(count)} not shown ${count === 1 ? 'is' : 'are'}`}
    </a>
  `;
}

/** `30 monitors · down 4 min`, and below the one cause; its incidents are a click away. */
function causeRow(
  { id, name, down, since }: Dashboard['causes'][number],
  { times }: MembersRequest,
): Html {
  return html`
    <li id="failing-${id}" class="row-down" data-row>
      <span class="state state-down">${icon('down')}</span>
      <div>
        <p>
          <a href="/incidents?cause=${id}">${countText(down)} monitors</a>
          <span>down${' '}${times.lasting(since)}</span>
        </p>
        <p><span>One cause: ${name}</span></p>
      </div>
    </li>
  `;
}

/** In every row each place is where it is in the others; private ones come last. */
function rankOf({ place }: Dashboard['failing'][number]['witnesses'][number]): number {
  const at = continentOrder.indexOf(place);
  return at === -1 ? continentOrder.length : at;
}

/** `Checkout · down 4 min`, below why, and beside it who saw it. */
function failingRow(
  { id, name, status, since, owner, incident, cause, witnesses }: Dashboard['failing'][number],
  { may, times }: MembersRequest,
): Html {
  const state = stateOf(status);
  const about = [
    ...(cause === null ? [] : [html`<span>${cause}</span>`]),
    ...(owner === null ? [] : [html`<span><b>${owner}</b> has it</span>`]),
  ];
  return html`
    <li id="failing-${id}" class="row-${state}" data-row>
      <span class="state state-${state}">${icon(state)}</span>
      <div>
        <p>
          ${
            incident === null
              ? html`<a href="/monitors/${id}">${name}</a>`
              : html`<a href="/incidents/${incident}">${name}</a>`
          }
          <span>
            ${status === 'down' ? 'down' : 'verifying'}${' '}${times.lasting(since)}
          </span>
        </p>
        <p>${joined(about, html`<span>·</span>`)}</p>
      </div>
      ${witnessLine(witnesses.toSorted((a, b) => rankOf(a) - rankOf(b)))}
      ${
        incident !== null &&
        status === 'down' &&
        owner === null &&
        may(acknowledgeIncident) &&
        acknowledgeForm({ id: incident, monitor_name: name })
      }
    </li>
  `;
}

function statusChips({ counts }: Dashboard, view: View): Html {
  return chips('Filter by status', [
    {
      href: addressOf(view, { status: null, warning: null }),
      label: 'All',
      count: counts.all,
      current: view.status === null && view.warning === null,
    },
    ...statusRows
      .filter((status) => counts[status] > 0 || view.status === status)
      .map((status) => ({
        href: addressOf(view, { status, warning: null }),
        label: stateWords[status],
        count: counts[status],
        symbol: status,
        current: view.status === status,
      })),
    ...(counts.warned > 0 || view.warning !== null
      ? [
          {
            href: addressOf(view, { status: null, warning: 'any' }),
            label: 'Warnings',
            count: counts.warned,
            symbol: 'verifying' as const,
            current: view.warning !== null,
          },
        ]
      : []),
  ]);
}

function search(view: View): Html {
  const { q: _, ...others } = inputOf(view);
  return html`
    <form class="search" action="/" role="search">
      ${Object.entries({
        ...others,
        sort: view.sort === 'group' ? null : view.sort,
        page: null,
      }).map(([name, value]) => value !== null && hiddenField(name, value))}
      ${icon('search')}
      <label class="unseen" for="search">Search by name, address, group or tag</label>
      <input
        id="search"
        type="search"
        name="q"
        value="${view.q}"
        placeholder="Search"
        autocomplete="off"
      >
    </form>
  `;
}

/** As many as are seen at once, those with the most monitors; the search finds the others. */
const mostOffered = 12;

/** What the list can be narrowed by; each leads to an address of its own. */
function offeredFilters(offered: Filters, view: View): Html {
  const part = (
    facet: Filters[number]['facet'],
    title: string,
    entryOf: (each: Filters[number]) => {
      words: string;
      narrowed: Partial<View>;
      current: boolean;
    },
  ): Part => {
    const all = offered.filter((each) => each.facet === facet);
    return (
      all.some(({ value }) => value !== noGroup) &&
      html`
        <div>
          ${menuTitle(title)}
          ${all
            .filter((each, nth) => nth < mostOffered || entryOf(each).current)
            // Groups as in the list, all others by how many they are of.
            .toSorted((a, b) =>
              facet !== 'group'
                ? 0
                : Number(a.value === noGroup) - Number(b.value === noGroup) ||
                  a.name.localeCompare(b.name),
            )
            .map((each) => {
              const { words, narrowed, current } = entryOf(each);
              return menuLink(addressOf(view, narrowed), words, { count: each.monitors, current });
            })}
        </div>
      `
    );
  };
  return filterMenu(
    html`
      ${part('kind', 'Type', ({ value }) => ({
        words: kindWord(value),
        narrowed: { kind: isKind(value) && value !== view.kind ? value : null },
        current: value === view.kind,
      }))}
      ${part('group', 'Group', ({ value, name }) => ({
        words: name,
        narrowed: { group: value === view.group ? null : value },
        current: value === view.group,
      }))}
      ${part('tag', 'Tag', ({ value }) => {
        const current = view.tags.includes(value);
        const tags = current ? view.tags.filter((tag) => tag !== value) : [...view.tags, value];
        return { words: value, narrowed: { tags }, current };
      })}
    `,
  );
}

/** Every filter that narrows the list, each with its end. */
function activeFilters(offered: Filters, view: View): Part {
  if (!isNarrowed(view)) return null;
  const groupName = offered.find(({ facet, value }) => facet === 'group' && value === view.group);
  const active = [
    ...(view.kind === null ? [] : [{ words: kindWord(view.kind), without: { kind: null } }]),
    ...view.tags.map((tag) => ({
      words: tag,
      without: { tags: view.tags.filter((each) => each !== tag) },
    })),
    ...(view.group === null
      ? []
      : [{ words: groupName?.name ?? 'Group', without: { group: null } }]),
    ...(view.q.trim() === '' ? [] : [{ words: `“${view.q}”`, without: { q: '' } }]),
  ];
  return filterEnds(
    active.map(({ words, without }) => ({ words, href: addressOf(view, without) })),
    addressOf(view, unfiltered),
  );
}

const maxAtOnce = 100;

const doneWords: Readonly<Record<string, string>> = {
  pause: 'paused',
  resume: 'resumed',
  group: 'moved',
  tag: 'tagged',
  untag: 'untagged',
  mute: 'muted',
  unmute: 'unmuted',
  delete: 'deleted',
};

/** Changes the selected monitors, and returns to the view in which they were selected. */
export const changeChosen = forMembers.post('/monitors/change', async ({ form, ask }) => {
  const to = backTo(form.value('back'));
  const monitors = form.values('monitors[]');
  if (monitors.length === 0) return seeOther(to, { said: 'Select monitors first.' });
  const [change = '', choice] = form.value('change')?.split(':') ?? [];
  const tag = form.value('tag') ?? '';
  if (change === 'maintenance') {
    const monitor = monitors.slice(0, maxAtOnce).join(',');
    return seeOther(`/maintenance/new${query({ when: 'now', monitor })}`);
  }
  if (change === 'delete' && form.value('sure') === undefined)
    return askToDelete((await ask(nameMonitors, { monitors })).items, to);
  if (change.endsWith('tag') && tag.trim() === '')
    return seeOther(to, { said: 'Enter a tag first.' });
  const tried = await attempt(
    form,
    () =>
      ask(changeMonitors, {
        monitors,
        change,
        ...(change === 'group' ? { group: choice === '' ? null : choice } : {}),
        ...(change.endsWith('tag') ? { tag } : {}),
        ...(change === 'mute' ? muteInputOf(choice) : {}),
      }),
    [],
  );
  if ('refused' in tried) return seeOther(to, { said: tried.refused.objections.join(' ') });
  const { changed } = tried.done;
  return changed === 0
    ? seeOther(to, { said: 'Nothing to change.' })
    : seeOther(to, {
        said: `${monitorsInWords(changed)} ${doneWords[change] ?? 'changed'}.`,
        mayUndo: true,
      });
});

/** Asked once, with the number and the names. */
function askToDelete(chosen: readonly GroupChoice[], back: string): PageAnswer {
  const which = chosen.length === 1 ? (chosen[0]?.name ?? '') : `${chosen.length} monitors`;
  return show({
    title: `Delete ${which}`,
    place: 'monitors',
    main: html`
      <div class="card stack question">
        ${heading({
          sentence: `Delete ${which}?`,
          below:
            'They are in the trash for 7 days, with their history: until then you can restore them.',
          trail: [{ href: '/', name: 'Monitors' }],
        })}
        <form class="stack" method="post" action="/monitors/change">
          ${hiddenField('back', back)}${hiddenField('change', 'delete')}
          <ul class="plain-list">
            ${chosen.map(({ id, name }) => html`<li>${hiddenField('monitors[]', id)}${name}</li>`)}
          </ul>
          <div class="actions">
            <button class="button button-danger" name="sure" value="yes">
              ${icon('delete')}Delete ${countText(chosen.length)}
            </button>
            <a class="button" href="${safeUrl(back)}">Cancel</a>
          </div>
        </form>
      </div>
    `,
  });
}

/** By the button of the message that says what was changed. */
export const undo = forMembers.post('/monitors/undo', async ({ form, ask }) => {
  const to = backTo(form.value('back'));
  const tried = await attempt(form, () => ask(undoChange), []);
  if ('refused' in tried) return seeOther(to, { said: tried.refused.objections.join(' ') });
  return seeOther(to, { said: 'Undone.' });
});

const nothingFound = html`
    <div class="table-card nothing">
      <p>No monitors match. <a href="/">Show all monitors</a></p>
    </div>
`;

/** Shown before there is any monitor: one sentence and one form. */
function beginning({ may }: MembersRequest): Html {
  const state = freshForm(formOf({}));
  if (!may(createMonitor))
    return heading({
      sentence: 'No monitors yet',
      below: 'A member or an owner can add the first monitor.',
    });
  return html`
    ${heading({
      sentence: 'No monitors yet',
      below:
        'Enter an address and test it from every continent. Nothing is saved until you say so.',
    })}
    <form class="card begin" method="post" action="/monitors/new#try">
      ${hiddenField('type', 'https')}
      ${textField({
        name: 'target',
        label: 'Address',
        inputmode: 'url',
        state,
        autocomplete: 'url',
        autofocus: true,
        required: true,
        placeholder: 'https://shop.example/checkout',
      })}
      <button class="button button-main" name="act" value="try">Test</button>
    </form>
    <p class="soft">
      Or
      monitor <a href="/monitors/new?type=dns">a DNS name</a> or <a
        href="/monitors/new?type=heartbeat"
      >
        a scheduled job (heartbeat)
      </a>, or <a href="/import">import monitors</a> from another service.
    </p>
  `;
}

function observingProbes({ probes }: Dashboard): Part {
  return (
    probes.length > 0 &&
    html`
    <p class="row observers">
      ${joined(
        probes.map(
          ({ name, continent, well }) =>
            html`
              <span class="soft">
                <span class="state state-${well ? 'up' : 'down'}">
                  ${icon(well ? 'up' : 'down')}
                </span>${name} <span class="softer">
                  ${well ? continent : `${continent}, offline`}
                </span>
              </span>
            `,
        ),
        ' ',
      )}
    </p>
  `
  );
}
