import { Refusal } from '../../shared/base/refusal.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { type Checker, refuseUnreachable } from './monitor-reach.ts';

/** Monitors that were accepted and that nobody can check any more: the probes that could are gone, or their hosts allow less (rule 5). */

export type Choosy = {
  readonly name: string;
  readonly kind: Kind;
  readonly target: string;
  readonly config: Config;
  readonly organisation: string;
};

/** Why nobody can check it, in the words of the refusal that it would get today; undefined when somebody can. */
export const strandedBy = (monitor: Choosy, checkers: readonly Checker[]): string | undefined => {
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
export const strandedSentence = (stranded: readonly { readonly name: string; readonly why: string }[]): string => {
  const named = stranded.slice(0, mostNamed).map(({ name, why }) => `"${name}" (${why.replace(/\.$/, '')})`);
  const more = stranded.length > mostNamed ? ` and ${stranded.length - mostNamed} more` : '';
  return `Nobody can check ${stranded.length === 1 ? 'this monitor' : `these ${stranded.length} monitors`}: ${named.join(', ')}${more}`;
};
