import { Refusal } from '../../shared/base/errors.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { type Checker, refuseUnreachable } from './monitor-reach.ts';

/** Monitors that were accepted and that nobody can check any more: the probes that could are gone, or their hosts allow less (rule 5). */

export type RestrictedMonitor = {
  readonly name: string;
  readonly kind: Kind;
  readonly target: string;
  readonly config: Config;
  readonly organisation: string;
};

/** Why nobody can check it, in the words of the refusal that it would get today; undefined when somebody can. */
export const whyUncheckable = (monitor: RestrictedMonitor, checkers: readonly Checker[]): string | undefined => {
  try {
    refuseUnreachable(monitor, checkers);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
};

const mostNamed = 5;

/** One sentence about all of them: one notice, never one for each monitor. */
export const uncheckableSentence = (uncheckable: readonly { readonly name: string; readonly why: string }[]): string => {
  const named = uncheckable.slice(0, mostNamed).map(({ name, why }) => `"${name}" (${why.replace(/\.$/, '')})`);
  const more = uncheckable.length > mostNamed ? ` and ${uncheckable.length - mostNamed} more` : '';
  return `Nobody can check ${uncheckable.length === 1 ? 'this monitor' : `these ${uncheckable.length} monitors`}: ${named.join(', ')}${more}`;
};
