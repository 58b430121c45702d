import {
  createObjective,
  deleteObjective,
  getObjective,
  listObjectives,
  updateObjective,
} from '../../shared/api/objectives.ts';
import type { OutputOf } from '../../shared/api/operation.ts';
import { durationText } from '../../shared/base/time.ts';
import { listFilters } from '../monitors/contract.ts';
import { linePath, momentsBetween } from '../web/charts.ts';
import { confirm } from '../web/confirm.ts';
import {
  countText,
  figure,
  heading,
  levelBar,
  linkButton,
  moreLink,
  msText,
  nothing,
  percentFigure,
  percentText,
  stateMark,
} from '../web/elements.ts';
import { formOf } from '../web/form-data.ts';
import {
  checkField,
  type FormState,
  formSummary,
  refuseUnlessMay,
  selectField,
  textField,
} from '../web/forms.ts';
import { type Html, html, query } from '../web/html.ts';
import { menuLink, moreActions } from '../web/menu.ts';
import { forMembers, type MembersRequest, type PageAnswer, seeOther, show } from '../web/page.ts';
import { number, stacked, stepTable, table } from '../web/tables.ts';
import type { Times } from '../web/times.ts';

type Objective = OutputOf<typeof listObjectives>['items'][number];
type Course = OutputOf<typeof getObjective>;

const place = 'reports';
const reports = { href: '/reports', name: 'Reports' };
const trail = [reports, { href: '/objectives', name: 'Objectives' }];

export const objectivesPage = forMembers.get('/objectives', async (request) => {
  const { ask, may, query: asked } = request;
  const { items, next_cursor } = await ask(
    listObjectives,
    asked.cursor === undefined ? {} : { cursor: asked.cursor },
  );
  const add =
    may(createObjective) &&
    linkButton('/objectives/new', 'New objective', { main: true, symbol: 'add' });
  return show({
    title: 'Objectives',
    place,
    live: true,
    main: html`
      ${heading({
        sentence: sentenceOf(items, next_cursor !== null),
        below: html`
          What you promise, and the error budget that is left.${' '}
          <a href="/docs/objectives">How it is counted</a>
        `,
        actions: items.length > 0 && add,
        trail: [reports],
      })}
      ${
        items.length === 0
          ? nothing('calendar', 'No objectives yet. Each warns you before a promise breaks.', add)
          : html`
            ${stepTable(items.toSorted((a, b) => rankOf(a) - rankOf(b)).map(rowOf))}
            ${next_cursor !== null && moreLink(`/objectives${query({ cursor: next_cursor })}`, 'More')}
          `
      }
    `,
  });
});

/** `2 of 4 objectives are missed`; of a first page, there are more. */
function sentenceOf(items: readonly Objective[], isMore: boolean): string {
  const all = `${isMore ? 'more than ' : ''}${items.length}`;
  const count = (isSo: (each: Objective) => boolean) => items.filter(isSo).length;
  const [missed, burning] = [count(isMissed), count((each) => !isMissed(each) && isBurning(each))];
  const some = (few: number, words: string) =>
    items.length === 1 ? `The objective ${words}` : `${few} of ${all} objectives ${words}`;
  if (items.length === 0) return 'No objectives yet';
  if (missed > 0) return some(missed, missed === 1 ? 'is missed' : 'are missed');
  if (burning > 0) return some(burning, burning === 1 ? 'burns its budget' : 'burn their budgets');
  if (count(({ percent }) => percent !== null) === 0) return 'Nothing is measured yet';
  return items.length === 1 ? 'The objective is kept' : `All ${all} objectives are kept`;
}

function isMissed(objective: Objective): boolean {
  const { left } = budgetOf(objective);
  return left !== null && left < 0;
}

function isBurning({ burn }: Objective): boolean {
  return burn.some(({ burns }) => burns);
}

/** The worst come first. */
function rankOf(objective: Objective): number {
  if (isMissed(objective)) return 0;
  if (isBurning(objective)) return 1;
  return objective.percent === null ? 3 : 2;
}

function rowOf(objective: Objective) {
  const { id, name, of, percent } = objective;
  return {
    id: `objective-${id}`,
    State: markOf(objective),
    Objective: stacked(
      html`<a class="row-link" href="/objectives/${id}">${name}</a>`,
      of !== name && of,
    ),
    Measured: number(percentFigure(percent)),
    Target: `${targetWords(objective)}, ${periodWords(objective)}`,
    'Error budget': budgetBar(objective),
  };
}

function targetWords({ target, latency_ms }: Objective): string {
  return latency_ms === null ? `${target}%` : `${target}% within ${msText(latency_ms)}`;
}

function periodWords({ period }: Objective): string {
  return period === '30d' ? '30 days' : 'a month';
}

function markOf(objective: Objective): Html {
  const { left } = budgetOf(objective);
  if (isMissed(objective)) return stateMark('down', 'Missed');
  const [burning] = objective.burn.filter(({ burns }) => burns);
  if (burning) return burnMark(burning);
  return left === null ? stateMark('pending', 'No data yet') : stateMark('up', 'Kept');
}

type Budget = {
  readonly whole: number | null;
  readonly left: number | null;
  readonly words: Words;
};
type Words = (amount: number) => string;

/** In seconds, or in checks. */
function budgetOf(objective: Objective): Budget {
  const { budget_seconds, budget_left_seconds, budget_checks, budget_left_checks } = objective;
  return objective.latency_ms === null
    ? { whole: budget_seconds, left: budget_left_seconds, words: lengthOf }
    : {
        whole: budget_checks,
        left: budget_left_checks,
        words: (count) => `${countText(count)} ${count === 1 ? 'check' : 'checks'}`,
      };
}

function budgetBar(objective: Objective): Html | string {
  const { whole, left, words } = budgetOf(objective);
  if (whole === null || left === null) return '–';
  const state = left < 0 ? 'down' : isBurning(objective) ? 'verifying' : 'up';
  return html`
    <span class="budget">
      ${levelBar(left < 0 ? 1 : left / Math.max(1, whole), state)}
      ${leftWords(left, words)}
    </span>
  `;
}

function leftWords(left: number, words: Words): string {
  const over = words === lengthOf ? 'too long' : 'too slow';
  return left < 0 ? `${words(-left)} ${over}` : `${words(left)} left`;
}

function lengthOf(seconds: number): string {
  return seconds === 0 ? '0' : durationText(seconds * 1_000);
}

export const objectivePage = forMembers.get('/objectives/:objective_id', async (request) => {
  const { ask, may, path, times } = request;
  const objective = await ask(getObjective, { objective_id: path.objective_id });
  const { id, name, of, latency_ms, percent, from, to } = objective;
  const { whole, left, words } = budgetOf(objective);
  const what = latency_ms === null ? 'up' : `within ${msText(latency_ms)}`;
  return show({
    title: name,
    place,
    live: true,
    main: html`
      <div class="stack">
        ${heading({
          sentence: `${name}: ${percent === null ? 'nothing measured' : `${percentText(percent)} ${what}`}`,
          below: html`
            ${markOf(objective)} <span class="softer">·</span> ${of !== name && `${of}, `}
            ${times.day(from)} to ${times.day(to)}
          `,
          actions:
            may(updateObjective) &&
            moreActions(html`
              ${menuLink(`/objectives/${id}/edit`, 'Edit', { symbol: 'edit' })}
              <hr>
              ${menuLink(`/objectives/${id}/delete`, 'Delete', { symbol: 'delete', danger: true })}
            `),
          trail,
        })}
        <dl class="figures">
          ${figure('Target', targetWords(objective))}
          ${figure('Measured', percentFigure(percent))}
          ${figure('Error budget', whole === null ? '–' : words(whole))}
          ${figure(left !== null && left < 0 ? 'Overspent' : 'Left', left === null ? '–' : words(Math.abs(left)))}
        </dl>
        <section class="card stack">
          <h2>Error budget</h2>
          ${budgetChart(objective, times) ?? html`<p class="nothing">No data yet</p>`}
        </section>
        <section>
          <h2>Burn rate</h2>
          ${table(
            objective.burn.map((each) => ({
              Windows: `${minutesText(each.short_minutes)} and ${minutesText(each.long_minutes)}`,
              'Short window': number(rateText(each.short_rate)),
              'Long window': number(rateText(each.long_rate)),
              'Warns above': number(rateText(each.factor)),
              State: each.burns ? burnMark(each) : stateMark('up', 'Below'),
            })),
            'Burn rate by pairs of windows: both must be above',
          )}
        </section>
      </div>
    `,
  });
});

function burnMark({ code }: Pick<Objective['burn'][number], 'code'>): Html {
  return stateMark('verifying', code === 'burns_fast' ? 'Burns fast' : 'Burns slowly');
}

function minutesText(minutes: number): string {
  return durationText(minutes * 60_000);
}

function rateText(rate: number): string {
  return `${rate.toLocaleString('en', { maximumFractionDigits: 1 })}×`;
}

const [width, height] = [1_000, 200];

/** What was left, as a share: it never grows within a period. */
function budgetChart(objective: Course, times: Times): Html | null {
  const { course } = objective;
  const { whole, left = null, words } = budgetOf(objective);
  const [first, last] = [course.at(0), course.at(-1)];
  if (!first || !last || whole === null || whole <= 0 || left === null) return null;
  const [from, to] = [Date.parse(first.at), Date.parse(last.at)];
  const points = course.map(({ at, left_seconds, left_checks }) => ({
    at: Date.parse(at),
    value: Math.max(0, (left_seconds ?? left_checks ?? 0) / whole),
  }));
  const x = (at: number): number => ((at - from) / Math.max(1, to - from)) * width;
  const y = (share: number): number => height - share * height;
  return html`
    <div class="chart chart-low">
      <ul class="chart-y" aria-hidden="true">
        ${[100, 50, 0].map((percent) => html`<li>${percent}%</li>`)}
      </ul>
      <div class="chart-plot">
        <svg
          viewBox="0 0 ${width} ${height}"
          preserveAspectRatio="none"
          role="img"
          aria-label="Error budget in the period: ${leftWords(left, words)} of ${words(whole)}"
        >
          <path class="grid" d="${[0, 0.5, 1].map((share) => `M0 ${y(share)}H${width}`).join('')}"></path>
          <path class="line line-budget" d="${linePath(points, x, y, Number.POSITIVE_INFINITY).line}"></path>
        </svg>
      </div>
      <ul class="chart-x" aria-hidden="true">
        ${momentsBetween(from, to, 5).map((at) => html`<li>${times.text(at, 'day').slice(0, -5)}</li>`)}
      </ul>
    </div>
  `;
}

const fields = ['name', 'of', 'target', 'latency_ms', 'period', 'on_status_pages'] as const;

export const newObjectivePages = forMembers.form('/objectives/new', async (request) => {
  const { items } = await request.ask(listFilters, {});
  return {
    fresh: () => {
      refuseUnlessMay(request, createObjective);
      return formOf({ target: '99.9', period: '30d', ...request.query });
    },
    shown: (state) =>
      formPage(state, { sentence: 'New objective', back: '/objectives', choices: items }),
    fields,
    act: async () => {
      const { form } = request;
      const [kind = '', value = ''] = (form.value('of') ?? '').split(/:(.*)/s);
      const { id } = await request.ask(createObjective, {
        ...inputFrom(request),
        latency_ms: form.value('latency_ms') || null,
        ...(['group', 'tag', 'monitor'].includes(kind) ? { [kind]: value } : {}),
      });
      return seeOther(`/objectives/${id}`, { said: 'Objective created.' });
    },
  };
});

function inputFrom({ form }: Pick<MembersRequest, 'form'>) {
  return {
    name: form.value('name') ?? '',
    target: form.value('target') ?? '',
    period: form.value('period') ?? '',
    on_status_pages: form.value('on_status_pages') === 'true',
  };
}

type Around = {
  readonly sentence: string;
  readonly back: string;
  /** Of a new one, what it may be of. */
  readonly choices?: OutputOf<typeof listFilters>['items'];
};

function formPage(state: FormState, { sentence, back, choices }: Around): PageAnswer {
  return show({
    title: sentence,
    place,
    status: state.status,
    main: html`
      ${heading({ sentence, trail })}
      ${formSummary(state)}
      <form class="form" method="post">
        ${textField({ name: 'name', label: 'Name', required: true, autocomplete: 'off', placeholder: 'Shop', state })}
        ${
          choices !== undefined &&
          selectField({
            name: 'of',
            label: 'Monitors',
            choices: [
              { value: '', label: 'All monitors' },
              ...choices.flatMap(({ facet, value, name }) =>
                facet === 'group' || facet === 'tag'
                  ? [
                      {
                        value: `${facet}:${value}`,
                        label: `${facet === 'group' ? 'Group' : 'Tag'} ${name}`,
                      },
                    ]
                  : [],
              ),
            ],
            state,
          })
        }
        ${textField({ name: 'target', label: 'Target', unit: '%', required: true, autocomplete: 'off', state })}
        ${
          choices !== undefined &&
          textField({
            name: 'latency_ms',
            label: 'Response time',
            unit: 'ms',
            help: 'Leave empty for a target of uptime. Otherwise the target is of checks that pass within this time.',
            autocomplete: 'off',
            state,
          })
        }
        ${selectField({
          name: 'period',
          label: 'Period',
          choices: [
            { value: '30d', label: 'The last 30 days' },
            { value: 'month', label: 'Each calendar month' },
          ],
          state,
        })}
        ${checkField({
          name: 'on_status_pages',
          label: 'Show on status pages that have all of its monitors',
          state,
        })}
        <div class="actions">
          <button class="button button-main">
            ${choices === undefined ? 'Save' : 'Create objective'}
          </button>
          ${linkButton(back, 'Cancel')}
        </div>
      </form>
    `,
  });
}

export const editObjectivePages = forMembers.form(
  '/objectives/:objective_id/edit',
  async (request) => {
    const { id, name, target, period, on_status_pages } = await existing(request);
    const shown = on_status_pages ? { on_status_pages: 'true' } : {};
    return {
      fresh: () => formOf({ name, target: String(target), period, ...shown }),
      shown: (state) => formPage(state, { sentence: `Edit ${name}`, back: `/objectives/${id}` }),
      fields,
      act: async () => {
        await request.ask(updateObjective, { ...inputFrom(request), objective_id: id });
        return seeOther(`/objectives/${id}`, { said: 'Objective updated.' });
      },
    };
  },
);

async function existing(request: MembersRequest): Promise<Course> {
  const found = await request.ask(getObjective, { objective_id: request.path.objective_id });
  refuseUnlessMay(request, updateObjective);
  return found;
}

export const deleteObjectivePages = forMembers.form(
  '/objectives/:objective_id/delete',
  async (request) => {
    const { id, name } = await existing(request);
    return {
      shown: (state) =>
        confirm({
          state,
          title: `Delete ${name}`,
          place,
          below: 'Its monitors and their history stay.',
          trail: [...trail, { href: `/objectives/${id}`, name }],
          act: 'Delete objective',
        }),
      act: async () => {
        await request.ask(deleteObjective, { objective_id: id });
        return seeOther('/objectives', { said: 'Objective deleted.' });
      },
    };
  },
);
