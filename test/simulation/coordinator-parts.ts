import type { MonitorState, Rules } from '../../coordinator/core/types.ts';
import type { Agenda } from './agenda.ts';
import type { Alerter } from './alerter.ts';
import type { Bus } from './bus.ts';
import type { Database } from './database.ts';
import type { Listener, Network } from './network.ts';
import type { Probe } from './probe.ts';
import type { Record } from './result-record.ts';
import type { Round } from './round.ts';
import type { Story } from './story.ts';

/** What a simulated coordinator can be told, and what it is made of. */
export type Coordinator = Listener & {
  readonly wake: () => void;
  readonly isWell: () => boolean;
  /** Dies when the next round comes to this step. */
  readonly dieAt: (step: number) => void;
  /** The next thing that it asks of the database is never answered. */
  readonly hangNextCall: () => void;
  readonly die: () => void;
  readonly hang: () => void;
  readonly goOn: () => void;
  readonly holdAgain: () => void;
  readonly isQuiet: () => boolean;
  readonly states: () => readonly MonitorState[];
  readonly setStates: (states: readonly MonitorState[]) => void;
  readonly alerter: Alerter;
};

export type CoordinatorDependencies = {
  readonly story: Story;
  readonly agenda: Agenda;
  readonly bus: Bus;
  readonly database: Database;
  readonly network: Network;
  readonly probes: readonly Probe[];
  readonly record: Record;
  readonly rules: Rules;
  readonly owner: number;
  readonly isBusAway: () => boolean;
  /** What its clock says, which can be wrong. */
  readonly clock: () => number;
  readonly isRefused: () => boolean;
  readonly onDeath: () => void;
  /** It could not go on, and another is to begin. */
  readonly onGivenUp: () => void;
  readonly onCommit: (round: Round) => void;
  readonly assigned: (monitor: number) => void;
};
