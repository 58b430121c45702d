import type { Continent } from '../../shared/base/continents.ts';
import { ask, type Draft, progressLightly } from './decision-draft.ts';
import type { Incident, SeenResult } from './decision-types.ts';

/** Answers need a moment: within it the same question is not asked again. */
const patience = 1_000;

/** Every other continent that may check it. */
const others = (draft: Draft, than: Continent): readonly Continent[] => draft.reach.able.filter((continent) => continent !== than);

/** Whether a result tells of now: nothing is asked about the past, which others cannot see any more. */
const tellsOfNow = (draft: Draft, result: Pick<SeenResult, 'at' | 'handed_over'>): boolean =>
  !result.handed_over && draft.moment.now - result.at <= 2 * draft.reach.turn_ms;

/** Rule 9: in the moment of the first failure everybody else is asked; their answers are the matrix. Also told: that nobody else is left. */
export const askFirst = (draft: Draft, incident: Incident, from: Continent, result: Pick<SeenResult, 'at' | 'handed_over'>): Incident => {
  if (result.handed_over) return incident;
  const { now } = draft.moment;
  // Nobody was asked: what is seen of now need not wait for an answer.
  if (!tellsOfNow(draft, result)) return progressLightly(draft, incident, { asked_at: result.at });
  const continents = others(draft, from);
  if (continents.length === 0 && !draft.reach.lone) {
    draft.effects.push({ is: 'notice', about: 'alone', continent: from });
    return progressLightly(draft, incident, { asked_at: now, told_alone: true });
  }
  const look = draft.rules.others_look_at_once ? ask(draft, continents, 'first') : null;
  return progressLightly(draft, incident, { asked_at: now, matrix: look === null ? null : { look, asked_at: now, waiting: continents } });
};

/** Rule 11: each further failure asks again, all but the continent that has just answered. */
export const askAgain = (draft: Draft, incident: Incident, from: Continent, result: Pick<SeenResult, 'at' | 'handed_over'>): Incident => {
  const { now } = draft.moment;
  if (!tellsOfNow(draft, result)) return incident;
  if (incident.progress.asked_at === 0) return askFirst(draft, incident, from, result);
  if (now - incident.progress.asked_at < patience || !draft.rules.others_look_at_once) return incident;
  const continents = others(draft, from);
  if (continents.length === 0 && !draft.reach.lone && !incident.progress.told_alone) {
    draft.effects.push({ is: 'notice', about: 'alone', continent: from });
    return progressLightly(draft, incident, { told_alone: true });
  }
  ask(draft, continents, 'again');
  return progressLightly(draft, incident, { asked_at: now });
};

/** Rule 12: the first pass of a failing continent asks all others to look at once. */
export const askRecovery = (
  draft: Draft,
  incident: Incident,
  from: Continent,
  result: Pick<SeenResult, 'at' | 'handed_over'>,
): Incident => {
  if (!tellsOfNow(draft, result)) return incident;
  ask(draft, others(draft, from), 'recovery');
  return progressLightly(draft, incident, { asked_at: draft.moment.now });
};
