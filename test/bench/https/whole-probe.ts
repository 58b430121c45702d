import { assignmentOf } from '../../probe/support/checkers.ts';
import { rosterProbe } from '../../probe/support/surroundings.ts';
import { eventually } from '../../support/eventually.ts';
import { cpuOf } from '../processes.ts';
import { startLoneProbe } from './lone-probe.ts';

/** A lone probe with monitors that it checks by its own schedule. */
export type WholeProbe = {
  /**
   * CPU of one check in milliseconds, everything that the probe does counted, while it checks the
   * monitors of one target.
   */
  readonly cpuPerCheck: (target: string, ms: number) => Promise<number>;
  /** Memory in MiB, with nothing to check. */
  readonly atRest: number;
  readonly close: () => Promise<void>;
};

/** Patience enough for a busy machine: what is measured is CPU, not how long it takes. */
const interval_ms = 4_000;
const maxTries = 3;

/** As many monitors for each target as make so many checks a second. */
export const startWholeProbe = async (
  folder: string,
  authority: string,
  targets: readonly string[],
  perSecond: number,
): Promise<WholeProbe> => {
  const monitors = (perSecond * interval_ms) / 1_000;
  const { pid, wire, coordinator, atRest, close } = await startLoneProbe(folder, authority);
  try {
    const rest = () => coordinator.publishRoster(rosterProbe(wire, { healthy: false }));
    await rest();
    const sets = new Map(
      targets.map((target) => [
        target,
        Array.from({ length: monitors }, (_, ordinal) =>
          assignmentOf(target, { ordinal, interval_ms, timeout_ms: interval_ms - 100 }),
        ),
      ]),
    );
    /** Only the monitors of one target are there at a time. */
    const swap = async (target: string): Promise<void> => {
      for (const [other, set] of sets) {
        await Promise.all(
          set.map((one) =>
            other === target ? coordinator.assign(one) : coordinator.unassign(one.monitor),
          ),
        );
      }
      await eventually(() => coordinator.presences.at(-1)?.assignments.count === monitors, 20_000);
    };
    /**
     * One window; undefined when so much failed in it that the machine, not the probe, was
     * measured.
     */
    const measured = async (ms: number): Promise<number | undefined> => {
      const { accepted } = coordinator.taker;
      accepted.length = 0;
      await eventually(() => accepted.length >= monitors, 30_000);
      const [cpu, from] = [cpuOf(pid), Date.now()];
      await new Promise((resolve) => setTimeout(resolve, ms));
      const [after, to] = [cpuOf(pid), Date.now()];
      // Counted by when they started: those of the window are all here once the next ones are.
      await eventually(() => accepted.some(({ at }) => at > to + interval_ms), 30_000);
      const results = accepted.filter(({ at }) => at >= from && at < to);
      const good = results.filter(({ outcome }) => outcome === 'ok').length;
      return good < results.length * 0.99 ? undefined : (after - cpu) / results.length;
    };
    return {
      atRest,
      close,
      cpuPerCheck: async (target, ms) => {
        await swap(target);
        await coordinator.publishRoster(rosterProbe(wire));
        for (let tries = 0; tries < maxTries; tries += 1) {
          const found = await measured(ms);
          if (found === undefined) continue;
          await rest();
          return found;
        }
        throw new Error(
          `more than 1 % of the checks failed in each of ${maxTries} windows: the machine is too busy to measure on`,
        );
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
};
