import type { Continent } from '../../shared/base/continents.ts';
import type { Cause, Layer } from '../../shared/checks/checks-cause-types.ts';
import { causeLayer } from '../../shared/checks/checks-causes.ts';
import type { Incident, Scope } from './decision-types.ts';

/** A pass counts for the scope when it started before or soon after confirmation: a later one tells of the recovery. */
const afterConfirmation = 60_000;

/** Said by the job itself, which is the same for everybody, and not seen from anywhere. */
const saidByTheJob: readonly string[] = ['heartbeat_failed', 'heartbeat_exit_code'];

export const isSaidByTheJob = (cause: Cause | null): boolean => cause !== null && saidByTheJob.includes(cause.class);

/** From where an outage is seen (rule 15): a continent that failed once in it failed, whatever it saw before or after. */
export const scopeOf = (cause: Cause | null, failed: readonly Continent[], passed: readonly Continent[]): Scope => {
  if (isSaidByTheJob(cause)) return 'everywhere';
  if (failed.length <= 1) return 'one_continent';
  return passed.some((continent) => !failed.includes(continent)) ? 'some_continents' : 'everywhere';
};

export const layerOf = (cause: Cause | null): Layer | null => (cause ? causeLayer(cause) : null);

/** The incident with what this continent saw counted in. Gives the same incident when nothing changed. */
export const counted = (incident: Incident, continent: Continent, ok: boolean, at: number): Incident => {
  const { progress } = incident;
  if (ok && incident.confirmed_at !== null && at > incident.confirmed_at + afterConfirmation) return incident;
  const list = ok ? progress.passed : progress.failed;
  if (at < incident.started_at || list.includes(continent)) return incident;
  const failed = ok ? progress.failed : [...progress.failed, continent];
  const passed = ok ? [...progress.passed, continent] : progress.passed;
  return { ...incident, scope: scopeOf(incident.cause, failed, passed), progress: { ...progress, failed, passed } };
};
