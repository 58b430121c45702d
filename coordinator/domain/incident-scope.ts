import type { Continent } from '../../shared/base/continents.ts';
import { causeLayer } from '../../shared/checks/causes.ts';
import type { Cause, Layer } from '../../shared/checks/result.ts';
import type { Incident, Scope } from './decision-types.ts';

/** A pass counts for the scope when it started before or soon after confirmation: a later one tells of the recovery. */
const afterConfirmation = 60_000;

/** Said by the job itself, which is the same for everybody, and not seen from anywhere. */
const saidByTheJob: readonly string[] = ['heartbeat_failed', 'heartbeat_exit_code'];

export const isSaidByTheJob = (cause: Cause | null): boolean => cause !== null && saidByTheJob.includes(cause.class);

/** Which continents saw an outage, which did not, and all that are asked. */
export type SeenByContinents = {
  readonly failed: readonly Continent[];
  readonly passed: readonly Continent[];
  readonly asked: readonly Continent[];
};

/**
 * From where an outage is seen (rule 15): a continent that failed once in it failed, whatever it saw before or after. Everywhere is it only once all
 * that are asked have failed.
 */
export const scopeOf = (cause: Cause | null, { failed, passed, asked }: SeenByContinents): Scope => {
  if (isSaidByTheJob(cause)) return 'everywhere';
  if (failed.length <= 1) return 'one_continent';
  return [...asked, ...passed].every((continent) => failed.includes(continent)) ? 'everywhere' : 'some_continents';
};

export const layerOf = (cause: Cause | null): Layer | null => (cause ? causeLayer(cause) : null);

type Saw = { readonly continent: Continent; readonly ok: boolean; readonly at: number };

/** The incident with what this continent saw counted in; `asked`: all that can check it now. Gives the same incident when nothing changed. */
export const counted = (incident: Incident, { continent, ok, at }: Saw, asked: readonly Continent[]): Incident => {
  const { progress } = incident;
  if (ok && incident.confirmed_at !== null && at > incident.confirmed_at + afterConfirmation) return incident;
  const list = ok ? progress.passed : progress.failed;
  if (at < incident.started_at || list.includes(continent)) return incident;
  const failed = ok ? progress.failed : [...progress.failed, continent];
  const passed = ok ? [...progress.passed, continent] : progress.passed;
  const scope = scopeOf(incident.cause, { failed, passed, asked });
  return { ...incident, scope, progress: { ...progress, failed, passed, asked } };
};
