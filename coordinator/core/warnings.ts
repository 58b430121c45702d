import { isContinent } from '../../shared/base/continents.ts';
import { causeSentence } from '../../shared/checks/causes.ts';
import { isSeenCode, type WarningCode } from '../../shared/checks/warnings.ts';
import type { Draft } from './draft.ts';
import { countApart, failsItselfSince, placesOf, type SeenPlace, sideOf } from './places.ts';
import type { HeldWarning, SeenResult, WarningView, Watched } from './types.ts';
import { mayCheck, reachOf } from './views.ts';

/**
 * Rule 44. A warning is held from the first check that sees it; nothing is held of a monitor that
 * nobody warns of. States of a held warning:
 *
 *   seen    by one continent; stored nowhere, and gone once nobody sees it or after a restart
 *   begun   two continents see it (where only one may check: two turns in a row); has a row, and
 *           was told
 *   ended   fewer than two see it and two do not (where only one may check: two turns in a row);
 *           the row has its end, and it is held no more
 *
 * A failing check says nothing of warnings, and neither does a pause or an edit: whoever checks next
 * does.
 */
export function noteWarnings(draft: Draft, result: SeenResult): void {
  const { state } = draft;
  const said = result.warnings ?? [];
  // Where both sides check, a warning is the outside's.
  if (draft.reach.inside && result.from.place !== undefined) return;
  if (result.outcome !== 'ok' || (state.warnings.length === 0 && said.length === 0)) return;
  const details = new Map<WarningCode, HeldWarning['details']>(
    said.flatMap(({ code, details }) => (isSeenCode(code) ? [[code, details]] : [])),
  );
  const ofPlaces = state.warnings.filter(({ code }) => code === placeFails);
  const held = new Map<WarningCode, HeldWarning>(
    state.warnings.filter(({ code }) => code !== placeFails).map((each) => [each.code, each]),
  );
  const oldest = Math.max(state.clock, result.at) - 2 * draft.reach.turn_ms;
  if (result.at < oldest) return;
  const warnings: HeldWarning[] = [...ofPlaces];
  for (const code of new Set([...held.keys(), ...details.keys()])) {
    const told = details.get(code);
    const before = held.get(code) ?? (told && firstSeen(code, told));
    const moved = before && move(before, result, told, oldest);
    const next = moved === before ? before : moved && settle(draft, moved, result);
    if (next) warnings.push(next);
  }
  draft.state = { ...draft.state, warnings: warnings.length > 0 ? warnings : noWarnings };
}

const placeFails = 'place_fails' satisfies WarningCode;

/** How long a place fails alone before anybody is told; of slow monitors, so many turns. */
const placeFailsMs = 600_000;
const placeFailsTurns = 3;

/**
 * Rule 44.8: a place fails for long while others pass. It is told by the views, and by no probe; it
 * ends when the place passes, or is not to check any more.
 */
export function notePlaces(draft: Draft): void {
  const { state, reach, moment } = draft;
  const { watched, clock, incident } = state;
  const held = state.warnings.find(({ code }) => code === placeFails);
  if (watched.kind === 'heartbeat' || (!held && state.views.every(({ ok }) => ok))) return;
  if (incident !== null && incident.confirmed_at !== null) return;
  const places = placesOf(state);
  const after = Math.max(placeFailsMs, placeFailsTurns * reach.turn_ms);
  const named = held ? String(held.details.places).split(', ') : [];
  const failing = places.filter((one) => {
    const since = failsItselfSince(one, state);
    return since !== null && (named.includes(nameOf(one)) || clock - since >= after);
  });
  const [first] = failing;
  if (!first) {
    if (!held || named.some((name) => isAwaited(name, places, watched))) return;
    const passed = places
      .filter((one) => named.includes(nameOf(one)))
      .map(({ newest }) => newest.at);
    put(draft, held, 'ended', Math.max(held.since, ...(passed.length > 0 ? passed : [clock])));
    draft.state = { ...state, warnings: state.warnings.filter((one) => one !== held) };
    return;
  }
  const details = {
    places: failing.map(nameOf).join(', '),
    cause: first.newest.failure?.cause ? causeSentence(first.newest.failure.cause) : '',
  };
  if (held) {
    if (held.details.places === details.places) return;
    const changed = put(draft, { ...held, details }, 'changed', null);
    draft.state = {
      ...state,
      warnings: state.warnings.map((one) => (one === held ? changed : one)),
    };
    return;
  }
  const areOthersWell = places.some(
    ({ newest }) => newest.ok && sideOf(newest.from) === sideOf(first.newest.from),
  );
  if (!areOthersWell) return;
  const since = Math.min(...failing.map((one) => failsItselfSince(one, state) ?? clock));
  const begun = { ...firstSeen(placeFails, details), id: moment.newId(), since, begun_at: clock };
  put(draft, begun, 'begun', null);
  draft.state = { ...state, warnings: [...state.warnings, begun] };
}

function nameOf({ newest: { from } }: SeenPlace): string {
  return from.place === undefined ? from.continent : from.name;
}

/** Whether this place may still check it and has not been heard of yet. */
function isAwaited(name: string, places: readonly SeenPlace[], watched: Watched): boolean {
  if (places.some((one) => nameOf(one) === name)) return false;
  return isContinent(name) && mayCheck(watched, { probe: '', continent: name });
}

/** One for all monitors without any. */
export const noWarnings: readonly HeldWarning[] = [];

/** Of how many checks a continent's median is taken. */
const medianOf = 5;

function firstSeen(code: WarningCode, details: HeldWarning['details']): HeldWarning {
  return {
    id: null,
    code,
    details,
    since: 0,
    begun_at: null,
    below_since: null,
    told: [],
    views: [],
  };
}

/**
 * Under which word the stage of an end is told once. Where several servers show several certificates,
 * what all continents agree on goes back and forth.
 */
export function toldAs({ ends_at, stage }: HeldWarning['details']): string {
  return `${ends_at ?? ''} ${stage ?? ''}`;
}

/** A server that rotates certificates must not fill the memory. */
export const maxTold = 50;

/** The continent's view moves, unless the result is older than it; views that are old are left out. */
function move(
  warning: HeldWarning,
  { at, from }: SeenResult,
  told: HeldWarning['details'] | undefined,
  oldest: number,
): HeldWarning {
  const { code } = warning;
  const views = warning.views.filter((view) => view.at >= oldest);
  const isOwn = ({ continent, place }: WarningView) =>
    place === from.place && (place !== undefined || continent === from.continent);
  const before = views.find(isOwn);
  if (before && at <= before.at) return warning;
  const checks = [told !== undefined, ...(before?.checks ?? [])].slice(0, medianOf);
  const sees = isSeenIn(code, checks);
  const goesOn = before !== undefined && before.sees === sees;
  const view: WarningView = {
    continent: from.continent,
    ...(from.place === undefined ? {} : { place: from.place }),
    probe: from.probe,
    at,
    checks,
    sees,
    since: goesOn ? before.since : at,
    run: goesOn ? before.run + 1 : 1,
    details: told ?? before?.details ?? warning.details,
  };
  return { ...warning, views: [...views.filter((one) => one !== before), view] };
}

/**
 * `slow` is what the median is: of five checks, three; of fewer, the missing ones were not slow. Two
 * in a row are enough, so that it is known after two turns.
 */
function isSeenIn(code: WarningCode, [newest, before, ...older]: readonly boolean[]): boolean {
  if (code !== 'slow' || (newest && before)) return newest === true;
  return [newest, before, ...older].filter(Boolean).length > medianOf / 2;
}

/** What the views make of it: it begins, changes or ends; undefined when it is held no more. */
function settle(draft: Draft, warning: HeldWarning, result: SeenResult): HeldWarning | undefined {
  const { state, moment } = draft;
  // What a regional place saw of a warning counts (rule 45 is about failures).
  const reach =
    draft.reach.regional.size === 0 ? draft.reach : reachOf(state.watched, moment.network);
  const { views } = warning;
  const seeing = views.filter(({ sees }) => sees);
  const apart = (some: readonly WarningView[]) =>
    countApart(
      some.map((view) => ({ from: view })),
      moment.network,
    );
  const seen = apart(seeing);
  const clear = apart(views.filter(({ sees }) => !sees));
  const [newest] = views.toSorted((a, b) => b.at - a.at);
  const isSeen = reach.lone ? newest?.sees === true && newest.run >= 2 : seen >= 2;
  if (warning.id === null) {
    if (!isSeen) return isForgotten(warning) ? undefined : warning;
    const since = Math.min(...seeing.map((view) => view.since));
    const details = agreedOn(seeing) ?? warning.details;
    const begun = {
      ...warning,
      id: moment.newId(),
      since,
      begun_at: result.at,
      details,
      told: [toldAs(details)],
    };
    return put(draft, begun, 'begun', null);
  }
  if (reach.lone ? newest?.sees === true : seen >= 2) {
    const agreed = agreedOn(seeing);
    const still = { ...warning, below_since: null };
    if (!agreed || isSame(agreed, warning.details)) return still;
    const isDeeper = Number(agreed.stage) < Number(warning.details.stage);
    const changed = { ...still, details: agreed };
    if (!isDeeper || warning.told.includes(toldAs(agreed)))
      return put(draft, changed, 'changed', null);
    const told = [...warning.told, toldAs(agreed)].slice(-maxTold);
    return put(draft, { ...changed, told }, 'deepened', null);
  }
  const below_since = warning.below_since ?? Math.max(result.at, warning.begun_at ?? 0);
  const below = { ...warning, below_since };
  const isOver = reach.lone
    ? newest?.sees === false && newest.run >= 2
    : clear >= Math.min(2, Math.max(1, reach.apart));
  if (!isOver) return below;
  put(draft, below, 'ended', below_since);
  return undefined;
}

/** Nobody sees it, and no check of the last ones does that could make a median. */
function isForgotten({ code, views }: HeldWarning): boolean {
  return views.every(({ checks, sees }) => !sees && (code !== 'slow' || !checks.includes(true)));
}

/**
 * The details that all who see it agree on: of stages the one that each has reached, of others those
 * of the first.
 */
function agreedOn(seeing: readonly WarningView[]): HeldWarning['details'] | undefined {
  const [first] = seeing.toSorted(
    (a, b) => Number(b.details.stage ?? 0) - Number(a.details.stage ?? 0) || a.since - b.since,
  );
  return first?.details;
}

/** What is worth a row: another stage, another certificate, and not each other number. */
function isSame(a: HeldWarning['details'], b: HeldWarning['details']): boolean {
  return a.stage === b.stage && a.ends_at === b.ends_at;
}

function put(
  draft: Draft,
  warning: HeldWarning,
  change: 'begun' | 'changed' | 'deepened' | 'ended',
  ended_at: number | null,
): HeldWarning {
  draft.effects.push({ is: 'warning', change, warning, ended_at });
  return warning;
}

/** What a quarantined probe saw counts no more (rule 16). */
export function withoutWarningsOf(
  warnings: readonly HeldWarning[],
  probe: string,
): readonly HeldWarning[] {
  return warnings.flatMap((warning) => {
    const views = warning.views.filter((view) => view.probe !== probe);
    return warning.id === null && views.length === 0 ? [] : [{ ...warning, views }];
  });
}
