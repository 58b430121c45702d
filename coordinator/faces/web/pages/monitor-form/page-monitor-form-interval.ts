import type { Kind } from '../../../../../shared/api/config-keys.ts';
import { countText } from '../../parts/part-figures.ts';
import type { Form } from '../../web-form-data.ts';
import { type FormState, selectField, textField } from '../../web-forms.ts';
import { type Html, html } from '../../web-html.ts';

/** Any number of seconds, where none of the usual ones will do. */
const otherChoice = 'other';
const otherField = 'interval_other_s';

const usual: Readonly<Record<Kind, readonly number[]>> = {
  https: [10, 20, 30, 60, 120, 180, 300, 600, 900, 1_800, 3_600, 21_600, 43_200, 86_400],
  dns: [10, 20, 30, 60, 120, 180, 300, 600, 900, 1_800, 3_600, 21_600, 43_200, 86_400],
  heartbeat: [60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600, 2_592_000],
};

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** In the largest unit that says it exactly: `90 seconds`, `7 days`. */
const words = (seconds: number): string => {
  const [size, name] = units.find(([each]) => seconds % each === 0) ?? [1, 'second'];
  return `${countText(seconds / size)} ${name}${seconds === size ? '' : 's'}`;
};

/** What is usual where nobody has chosen yet. */
export const firstInterval = (kind: Kind, least: number): number => (kind === 'heartbeat' ? 86_400 : Math.max(60, least));

/** The interval that a form asks for, as it was typed. */
export const intervalFrom = (form: Form): string | undefined => {
  const chosen = form.value('interval_s');
  return (chosen === otherChoice ? form.value(otherField) : chosen)?.trim();
};

/** How often that is, as far as it is a number. */
export const aDay = (kind: Kind, form: Form): Html => {
  const seconds = Number(intervalFrom(form) ?? '');
  const count = seconds > 0 ? 86_400 / seconds : 0;
  const noun = kind === 'heartbeat' ? 'ping' : 'check';
  const often =
    count >= 1 ? `${countText(Math.floor(count))} ${noun}${Math.floor(count) === 1 ? '' : 's'} a day` : `a ${noun} every ${words(seconds)}`;
  return html`<p class="a-day" id="a-day" data-refreshed>${count > 0 && html`= ${often}`}</p>`;
};

export const intervalField = (kind: Kind, state: FormState, least: number): Html => {
  const { form } = state;
  const chosen = Number(form.value('interval_s'));
  const offered = usual[kind].filter((each) => each >= least);
  const all = chosen > 0 && !offered.includes(chosen) ? [...offered, chosen].toSorted((a, b) => a - b) : offered;
  return html`<div class="interval" data-refreshes>${selectField({
    ...{ name: 'interval_s', label: kind === 'heartbeat' ? 'A ping is due every' : 'Every', state },
    choices: [...all.map((each) => ({ value: String(each), label: words(each) })), { value: otherChoice, label: 'another time …' }],
  })}<div class="interval-other">${textField({
    ...{ name: otherField, label: 'Seconds', state, unit: 's', inputmode: 'numeric', autocomplete: 'off' },
  })}</div>${aDay(kind, form)}</div>`;
};
