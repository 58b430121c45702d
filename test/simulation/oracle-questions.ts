import type { Incident } from '../../coordinator/core/types.ts';
import { type Known, newest } from './oracle-views.ts';

/** Rule 9: a question that a restart cut off is asked again by whoever goes on. */

type Cut = { readonly incident: string; readonly monitor: number; readonly at: number };

/** An unconfirmed incident, what is known of its monitor, and when anybody else was last asked. `turn_ms`: how long a turn of its continent takes. */
export type Verifying = {
  readonly incident: Incident;
  readonly monitor: number;
  readonly known: Known;
  readonly askedAt: number;
  readonly turn_ms: number;
  /** Whether there is another continent to ask. */
  readonly areOthers: boolean;
};

export type QuestionsOracle = {
  /** A coordinator begins. */
  readonly onStart: (now: number, open: readonly Verifying[]) => void;
  /** All has worked for long enough since. */
  readonly settled: (open: readonly Verifying[]) => string[];
};

const isAnswered = ({ incident, known }: Verifying): boolean =>
  newest(known.decided, ({ continent, at }) => continent !== incident.seen?.continent && at >= incident.started_at) !== undefined;

/** Whether its continent has seen it so lately that others can tell whether they see the same: the past asks nobody. */
const isOfNow = ({ incident, known, turn_ms }: Verifying, now: number): boolean => {
  const last = newest(known.decided, ({ continent }) => continent === incident.seen?.continent);
  return last?.outcome === 'fail' && now - last.at <= turn_ms;
};

export const createQuestionsOracle = (): QuestionsOracle => {
  let cut: readonly Cut[] = [];
  return {
    onStart: (now, open) => {
      const isCutOff = (each: Verifying) =>
        each.areOthers && each.askedAt >= each.incident.started_at && !isAnswered(each) && isOfNow(each, now);
      cut = open.filter(isCutOff).map(({ incident, monitor }) => ({ incident: incident.id, monitor, at: now }));
    },
    settled: (open) => {
      const left = cut.flatMap(({ incident, monitor, at }) => {
        const found = open.find((each) => each.incident.id === incident);
        const isLeft = found?.areOthers && found.askedAt < at && !isAnswered(found);
        return isLeft
          ? [`monitor ${monitor}, incident ${incident}: a restart at ${at} cut off its question, which nobody asked again`]
          : [];
      });
      cut = [];
      return left;
    },
  };
};
