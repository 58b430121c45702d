import type { CauseParams } from '../../shared/checks/result.ts';
import { isWarningCode, warningSentence } from '../../shared/checks/warnings.ts';

/** A warning that lasts, as statements give it. */
export type OpenWarning = {
  readonly monitor: string;
  readonly code: string;
  readonly details: CauseParams;
  /** In milliseconds. */
  readonly since: number;
};

/** Its sentence at a time; of a code of a newer version, only its name. */
export function warningText(
  { code, details }: Omit<OpenWarning, 'monitor' | 'since'>,
  now: number,
) {
  return isWarningCode(code) ? warningSentence({ code, details }, now) : code.replaceAll('_', ' ');
}

/** As answers show it. */
export function warningJson(warning: OpenWarning, now: number) {
  return {
    code: warning.code,
    since: new Date(warning.since).toISOString(),
    text: warningText(warning, now),
    details: warning.details,
    monitor: warning.monitor,
  };
}
