import type { OutputOf } from '../../../../shared/api/operation.ts';
import type { hearTrial } from '../../../../shared/api/test-runs.ts';
import { countInWords } from '../../../../shared/base/text.ts';
import { type Html, html } from '../web-html.ts';
import { byContinent } from './part-continents.ts';
import { evidenceRows } from './part-evidence.ts';
import { msText } from './part-figures.ts';
import { stateMark } from './part-states.ts';

/**
 * What a trial shows, piece by piece in the order of the document, as it comes: who was asked, each answer, what they say together. The line of a
 * continent that still looks is there from the first; the style takes it away when its answer stands below.
 */
export type Heard = OutputOf<typeof hearTrial>;
type Answer = Heard['answers'][number];
type Asked = Heard['asked'];

const phaseNames = [
  ['dns', 'DNS'],
  ['tcp', 'TCP'],
  ['tls', 'TLS'],
  ['first_byte', 'first byte'],
] as const;

type Phase = { readonly name: string; readonly words: string; readonly ms: number };

const phasesOf = ({ phases, took_ms }: Answer): readonly Phase[] => {
  const known = phaseNames.flatMap(([name, words]): Phase[] => {
    const ms = phases?.[name];
    return typeof ms === 'number' ? [{ name, words, ms }] : [];
  });
  const rest = took_ms - known.reduce((sum, { ms }) => sum + ms, 0);
  return known.length > 0 && rest >= 1 ? [...known, { name: 'rest', words: 'body', ms: rest }] : known;
};

const width = 1_000;

/** Where its time went. */
const phaseBar = (answer: Answer): Html | null => {
  const phases = phasesOf(answer);
  const whole = phases.reduce((sum, { ms }) => sum + ms, 0);
  if (phases.length < 2 || whole <= 0) return null;
  let from = 0;
  return html`<svg class="phase-bar" viewBox="0 0 ${width} 8" preserveAspectRatio="none" aria-hidden="true">${phases.map(({ name, ms }) => {
    const begin = from;
    from += (ms / whole) * width;
    return html`<rect class="phase-${name}" x="${begin.toFixed(1)}" width="${(from - begin).toFixed(1)}" height="8"></rect>`;
  })}</svg><span class="phase-words">${phases.map(({ name, words, ms }) => html`<span><i class="phase-dot phase-${name}"></i>${words} ${msText(ms)}</span> `)}</span>`;
};

const markOf = ({ outcome }: Answer): Html => {
  if (outcome === 'ok') return stateMark('up', 'Passes');
  return outcome === 'fail' ? stateMark('down', 'Fails') : stateMark('unknown', 'Cannot tell');
};

/** A cause says it already. */
const statusOf = ({ evidence, cause }: Answer): string => {
  if (cause !== null) return '';
  const status = evidence?.status;
  const rcode = evidence?.rcode;
  return typeof status === 'number' ? `status ${status}` : typeof rcode === 'string' ? rcode : '';
};

const answerLine = (answer: Answer, at: number): Html =>
  html`<li class="answer answer-${at}" id="answer-${at}">${markOf(answer)}<span class="answer-place"><b>${answer.continent}</b> <span class="softer">${answer.probe}</span></span><span class="answer-took">${statusOf(answer)}${statusOf(answer) !== '' && ', '}${msText(answer.took_ms)}</span>${
    answer.outcome === 'unknown'
      ? html`<p class="answer-unknown">${answer.cause ?? 'The fault is its own'}: that says nothing about what it looked at.</p>`
      : answer.cause !== null && html`<p class="answer-cause">${answer.cause}</p>`
  }${phaseBar(answer)}</li>`;

const count = (number: number): string => countInWords(number);
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const placesText = (all: readonly { readonly continent: string }[]): string => {
  const names = [...new Set(all.toSorted(byContinent).map(({ continent }) => continent))];
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
};

export const trialBegins = (asked: Asked): Html =>
  html`<section class="card trial" id="trial" aria-labelledby="trial-title" data-trial><h2 id="trial-title">${
    asked.length === 0 ? 'No probe can look now' : html`Seen from ${placesText(asked)}`
  }</h2><ul class="answers" aria-live="polite">${asked.map(
    ({ continent, probe }, at) =>
      html`<li class="waiting waiting-${at}" id="waiting-${at}">${stateMark('pending', 'Looking')}<span class="answer-place"><b>${continent}</b> <span class="softer">${probe}</span></span></li>`,
  )}`;

const placeOf = (asked: Asked, { probe }: { readonly probe: string }): number => asked.findIndex((each) => each.probe === probe);

export const trialAnswers = (asked: Asked, answers: readonly Answer[]): Html =>
  html`${answers.map((answer) => answerLine(answer, placeOf(asked, answer)))}`;

const verdictOf = (asked: Asked, answers: readonly Answer[]): string => {
  if (asked.length === 0) return 'No probe is present for these places just now. Saved, it is looked at as soon as one is.';
  const fails = answers.filter(({ outcome }) => outcome === 'fail');
  const passes = answers.filter(({ outcome }) => outcome === 'ok');
  if (passes.length === asked.length)
    return asked.length === 1 ? `${placesText(passes)} finds it in order.` : `All ${count(asked.length)} find it in order.`;
  if (fails.length === asked.length)
    return asked.length === 1
      ? `${placesText(fails)} finds it failing.`
      : `All ${count(asked.length)} find it failing: saved so, it would be down.`;
  if (fails.length > 0 && passes.length > 0)
    return `${capital(placesText(fails))} ${fails.length === 1 ? 'finds' : 'find'} it failing, ${placesText(passes)} ${passes.length === 1 ? 'finds' : 'find'} it in order.`;
  if (fails.length > 0) return `${placesText(fails)} ${fails.length === 1 ? 'finds' : 'find'} it failing; the rest cannot tell.`;
  return passes.length > 0
    ? `${placesText(passes)} ${passes.length === 1 ? 'finds' : 'find'} it in order; the rest cannot tell.`
    : 'Nobody could tell.';
};

/** What stands below the answers once no more come. */
export const trialEnds = ({ asked, answers: asTheyCame }: Pick<Heard, 'asked' | 'answers'>): Html => {
  const answers = asTheyCame.toSorted(byContinent);
  const silent = asked.flatMap((each, at) => (answers.some(({ probe }) => probe === each.probe) ? [] : [{ ...each, at }]));
  const rows = evidenceRows(answers);
  return html`${silent.map(
    ({ continent, probe, at }) =>
      html`<li class="answer answer-${at}" id="answer-${at}">${stateMark('unknown', 'No answer')}<span class="answer-place"><b>${continent}</b> <span class="softer">${probe}</span></span><p class="answer-unknown">Its probe did not answer in time; that says nothing about what it looked at.</p></li>`,
  )}</ul><p class="trial-verdict" role="status">${verdictOf(asked, answers)} <span class="soft">Nothing of this is stored.</span></p>${
    rows.length > 0 &&
    html`<details class="as-table"><summary>What came back, side by side</summary><div class="evidence table-scroll" tabindex="0" role="region" aria-label="What came back"><table><thead><tr><th scope="col">Continent</th>${answers.map(({ continent }) => html`<th scope="col">${continent}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div></details>`
  }</section>`;
};

/** Where the rest of the answers cannot be heard any more. */
export const trialBroken = (): Html =>
  html`</ul><p class="trial-verdict" role="status">What else was seen could not be heard. Test again.</p></section>`;
