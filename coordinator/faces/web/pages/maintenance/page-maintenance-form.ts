import { durationText } from '../../../../../shared/base/time.ts';
import { type Choices, chosenFields } from '../../parts/part-chosen-fields.ts';
import { boxId, choiceField, enterSaves, type FormState, formSummary, selectField, textField } from '../../web-forms.ts';
import { type Html, html, safeUrl } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { heading, linkButton } from '../../web-layout.ts';
import { type PageAnswer, show } from '../../web-page.ts';
import { titleOf } from './page-maintenance-titles.ts';
import { usualLengths_s, type Window } from './page-maintenance-values.ts';

/** What the form is about. */
export type Subject = {
  readonly choices: Choices;
  /** The one that it changes; without it a new one is made. */
  readonly window: Window | undefined;
  readonly zone: string;
  /** Where the form is posted. Of a new window it keeps the query, which says what was ticked when the form was opened. */
  readonly action: string;
  readonly tickedFirst: readonly string[];
};

const dayNames = [
  ...[
    ['MO', 'Mon'],
    ['TU', 'Tue'],
    ['WE', 'Wed'],
    ['TH', 'Thu'],
    ['FR', 'Fri'],
    ['SA', 'Sat'],
    ['SU', 'Sun'],
  ],
] as const;

const repeatFields = (state: FormState): Html =>
  html`${selectField({
    ...{ name: 'repeats', label: 'Repeats', state },
    choices: [
      { value: 'once', label: 'Never: it is once' },
      { value: 'daily', label: 'Every day' },
      { value: 'weekdays', label: 'On weekdays, Monday to Friday' },
      { value: 'weekly', label: 'Every week on …' },
      { value: 'monthly_day', label: 'Every month on that day of the month' },
      { value: 'monthly_nth', label: 'Every month on that weekday, as the 2nd Tuesday' },
      { value: 'monthly_last', label: 'Every month on the last such weekday' },
      { value: 'own', label: 'By a rule of your own' },
    ],
  })}<div class="span-days repeat-days" role="group" aria-label="Days of the week">${dayNames.map(
    ([value, label]) =>
      html`<label class="span-day"><input type="checkbox" id="${boxId('days', value)}" name="days[]" value="${value}"${state.form.values('days[]').includes(value) && html` checked`}><span>${label}</span></label>`,
  )}</div><div class="repeat-own">${textField({
    ...{ name: 'rrule', label: 'Rule', state, autocomplete: 'off', placeholder: 'FREQ=MONTHLY;BYDAY=2TU,4TU' },
    help: 'As calendars write it (RFC 5545, RRULE).',
  })}</div><div class="repeat-until">${textField({ name: 'until', label: 'The last time on', state, type: 'date', required: false })}</div>`;

const whenFields = ({ window, zone }: Subject, state: FormState): Html =>
  html`${
    window === undefined &&
    choiceField({
      ...{ name: 'when', label: 'When', state },
      choices: [
        { value: 'now', label: 'From now on' },
        { value: 'planned', label: 'At a time that I choose' },
      ],
    })
  }${
    window === undefined &&
    html`<div class="when-now">${selectField({
      ...{ name: 'for_s', label: 'For', state, help: 'It can be ended sooner.' },
      choices: usualLengths_s.map((each) => ({ value: String(each), label: durationText(each * 1_000) })),
    })}</div>`
  }<div class="when-planned"><div class="columns">${textField({ name: 'starts_at', label: 'Begins', state, type: 'datetime-local' })}${textField({ name: 'ends_at', label: 'Ends', state, type: 'datetime-local' })}</div><p class="field-help">By the clock of ${zone}${window === undefined ? '' : ', which this window keeps'}.</p>${repeatFields(state)}</div>`;

const trail = [{ href: '/maintenance', name: 'Maintenance' }];

const headOf = ({ window, choices }: Subject): Html => {
  if (window === undefined)
    return heading({
      sentence: 'Plan maintenance',
      below: 'What it covers is checked as ever, and nobody is told of a failure until it is over.',
      trail,
    });
  const title = titleOf(window, choices);
  return heading({
    sentence: html`Change ${title}`,
    below: 'From now on. What it covered until now stays covered.',
    trail: [...trail, { href: `/maintenance/${window.id}`, name: title }],
  });
};

export const formPage = (subject: Subject, state: FormState, ahead: Html): PageAnswer => {
  const { window, choices, action, tickedFirst } = subject;
  const isNew = window === undefined;
  return show({
    title: isNew ? 'Plan maintenance' : `Change ${titleOf(window, choices)}`,
    place: 'maintenance',
    status: state.status,
    main: html`<div class="window-form-page">${headOf(subject)}${formSummary(state)}
<form class="form window-form" method="post" action="${safeUrl(action)}">${enterSaves}
<div class="card stack">${textField({ name: 'name', label: 'What it is for', state, autocomplete: 'off', required: false, placeholder: 'Database upgrade' })}</div>
<div class="card stack" data-refreshes>${!isNew && html`<h2>When it is</h2>`}${whenFields(subject, state)}</div>
<section class="card stack when-planned"><div class="section-head"><h2>What that comes to</h2><button class="button" name="act" value="look" data-stays>${icon('again')}Show it</button></div><div id="ahead" class="ahead" data-refreshed aria-live="polite">${ahead}</div></section>
<div class="card stack"><h2>What it covers</h2>${chosenFields(choices, state, tickedFirst)}</div>
<div class="actions"><button class="button button-main" name="act" value="save">${isNew ? html`<span class="when-now">Begin now</span><span class="when-planned">Plan it</span>` : 'Save'}</button>${linkButton(isNew ? '/maintenance' : `/maintenance/${window.id}`, 'Leave it')}</div></form></div>`,
  });
};
