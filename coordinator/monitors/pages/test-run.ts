import type { OutputOf } from '../../../shared/api/operation.ts';
import { getTest } from '../../../shared/api/test-runs.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { countInWords } from '../../../shared/base/text.ts';
import { evidenceRows } from '../../incidents/pages/evidence.ts';
import { byContinent, msText, shortName, stateMark } from '../../web/elements.ts';
import { type Html, html, type Part } from '../../web/html.ts';
import type { Ask } from '../../web/page.ts';
import { phaseBarAlone, phaseLegend, phasesMs } from '../../web/phases.ts';

/**
 * What a test run shows, piece by piece in the order of the document as answers come: who was
 * asked, each answer, and the summary. The line of a continent that is still checking is there from
 * the start; the style hides it once its answer appears below.
 */
export type TestResults = OutputOf<typeof getTest>;
type TestAnswer = TestResults['answers'][number];
type TestedProbes = TestResults['asked'];

export function testRunBegins(asked: TestedProbes): Html {
  return html`
    <section class="card trial" id="trial" aria-labelledby="trial-title" data-trial>
      <h2 id="trial-title">
        ${asked.length === 0 ? 'No probe can check now' : html`Test from ${placesText(asked)}`}
      </h2>
      <ul class="answers" aria-live="polite">
        ${asked.map(
          ({ continent, probe }, at) =>
            html`
              <li class="waiting waiting-${at}" id="waiting-${at}">
                ${stateMark('pending', 'Checking')}
                <span>
                  <b>${continent}</b> <span class="softer">${probe}</span>
                </span>
              </li>
            `,
        )}
  `;
}

function placesText(all: readonly { readonly continent: string }[]): string {
  const names = [...new Set(all.toSorted(byContinent).map(({ continent }) => continent))];
  return names.length < 2
    ? (names[0] ?? '')
    : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

export function testAnswers(asked: TestedProbes, answers: readonly TestAnswer[]): Html {
  return html`${answers.map((answer) => answerLine(answer, placeOf(asked, answer)))}`;
}

function answerLine(answer: TestAnswer, at: number): Html {
  return html`
    <li class="answer answer-${at}" id="answer-${at}">
      ${markOf(answer)}
      <span>
        <b>${answer.continent}</b> <span class="softer">${answer.probe}</span>
      </span>
      <span class="answer-took">
        ${testAnswerStatusOf(answer)}
        ${testAnswerStatusOf(answer) !== '' && ', '}
        ${msText(answer.took_ms)}
      </span>
      ${
        answer.outcome === 'unknown'
          ? html`
            <p class="soft">
              ${answer.cause ?? 'The probe failed'}: this says nothing about your server.
            </p>
          `
          : answer.cause !== null && html`<p class="state-down">${answer.cause}</p>`
      }
    </li>
  `;
}

function markOf({ outcome }: TestAnswer): Html {
  if (outcome === 'ok') return stateMark('up', 'Passes');
  return outcome === 'fail' ? stateMark('down', 'Fails') : stateMark('unknown', 'No result');
}

/** A cause says it already. */
function testAnswerStatusOf({ evidence, cause }: TestAnswer): string {
  if (cause !== null) return '';
  const health = evidence?.serving_status;
  if (typeof health === 'string') return health;
  const status = evidence?.status;
  const rcode = evidence?.rcode;
  return typeof status === 'number' ? `status ${status}` : typeof rcode === 'string' ? rcode : '';
}

/** Of http: no other answer has a status, and a WebSocket has no body. */
function hasBody(evidence: TestAnswer['evidence']): boolean {
  return typeof evidence?.status === 'number' && evidence.status !== 101;
}

function placeOf(asked: TestedProbes, { probe }: { readonly probe: string }): number {
  return asked.findIndex((each) => each.probe === probe);
}

/** What follows the answers once no more come. */
export function testRunEnds({
  asked,
  answers: asTheyCame,
}: Pick<TestResults, 'asked' | 'answers'>): Html {
  const answers = asTheyCame.toSorted(byContinent);
  const silent = asked.flatMap((each, at) =>
    answers.some(({ probe }) => probe === each.probe) ? [] : [{ ...each, at }],
  );
  const rows = evidenceRows(answers);
  return html`
    ${silent.map(
      ({ continent, probe, at }) =>
        html`
          <li class="answer answer-${at}" id="answer-${at}">
            ${stateMark('unknown', 'No answer')}
            <span>
              <b>${continent}</b> <span class="softer">${probe}</span>
            </span>
            <p class="soft">
              Its probe did not answer in time. This says nothing about your server.
            </p>
          </li>
        `,
    )}
    </ul>
    <p class="trial-verdict" role="status">
      ${verdictOf(asked, answers)} <span class="soft">Nothing was saved.</span>
    </p>
    ${scaled(answers)}
    ${
      rows.length > 0 &&
      html`
        <details class="as-table">
          <summary>Compare responses</summary>
          <div class="evidence table-scroll" tabindex="0" role="region" aria-label="Responses">
            <table>
              <thead>
                <tr>
                  <th scope="col">Continent</th>
                  ${answers.map(({ continent }) => html`<th scope="col">${continent}</th>`)}
                </tr>
              </thead>
              <tbody>${rows}</tbody>
            </table>
          </div>
        </details>
      `
    }
    </section>
  `;
}

/** How long each took, on the scale of the slowest: known once all have answered. */
function scaled(answers: readonly TestAnswer[]): Part {
  const timed = answers.map(({ continent, phases, took_ms: tookMs, evidence }) => ({
    continent,
    is: { phases, tookMs, hasBody: hasBody(evidence) },
  }));
  const slowestMs = Math.max(0, ...timed.map(({ is }) => phasesMs(is)));
  return (
    slowestMs > 0 &&
    html`
      <div class="lanes">
        ${timed.map(
          ({ continent, is }) => html`
            <div class="sample-lane">
              <span class="soft">${shortName(continent)}</span>
              <div class="phases-cell">${phaseBarAlone(is, slowestMs) ?? '–'}</div>
            </div>
          `,
        )}
        ${phaseLegend(timed.map(({ is }) => is))}
      </div>
    `
  );
}

function verdictOf(asked: TestedProbes, answers: readonly TestAnswer[]): string {
  if (asked.length === 0)
    return 'No probe is online for these locations. Once saved, it is checked as soon as one is.';
  const fails = answers.filter(({ outcome }) => outcome === 'fail');
  const passes = answers.filter(({ outcome }) => outcome === 'ok');
  if (passes.length === asked.length)
    return asked.length === 1
      ? `The check from ${placesText(passes)} passed.`
      : `All ${count(asked.length)} checks passed.`;
  if (fails.length === asked.length)
    return asked.length === 1
      ? `The check from ${placesText(fails)} failed.`
      : `All ${count(asked.length)} checks failed. Saved like this, it would be down right away.`;
  if (fails.length > 0 && passes.length > 0)
    return `Failed from ${placesText(fails)}, passed from ${placesText(passes)}.`;
  if (fails.length > 0) return `Failed from ${placesText(fails)}. The others gave no result.`;
  return passes.length > 0
    ? `Passed from ${placesText(passes)}. The others gave no result.`
    : 'No result from any location.';
}

function count(number: number): string {
  return countInWords(number);
}

/** Shown when the remaining answers cannot be received any more. */
export function testRunBroken(): Html {
  return html`
    </ul>
    <p class="trial-verdict" role="status">The other results were lost. Test again.</p>
    </section>
  `;
}

/**
 * The results of the continents as they come. Says so when the answers cannot be received any more
 * because their coordinator was replaced.
 */
export async function* streamTestRun(ask: Ask, { id, asked }: TestResults): AsyncGenerator<Html> {
  yield testRunBegins(asked);
  let known = 0;
  for (;;) {
    const heard = await ask(getTest, { test_id: id, known }).catch((error: unknown) => {
      if (error instanceof Refusal) return undefined;
      throw error;
    });
    if (!heard) {
      yield testRunBroken();
      return;
    }
    yield testAnswers(asked, heard.answers.slice(known));
    known = heard.answers.length;
    if (heard.over) {
      yield testRunEnds(heard);
      return;
    }
  }
}
