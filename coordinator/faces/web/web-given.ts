import type { Log } from '../../../shared/base/log.ts';
import type { Clock } from '../../../shared/base/time.ts';
import type { Sessions } from '../../access/access-sessions.ts';
import type { Gate } from '../../operations/operations.ts';
import type { Instruments } from './web-instruments.ts';
import type { ToldChanges } from './web-live-stream.ts';

/** What the pages are given by app.ts. */
export type WebParts = {
  readonly gate: Pick<Gate, 'execute' | 'executeOnce' | 'executeForPerson' | 'executeForVisitor' | 'executeForOperator'>;
  readonly authenticate: Sessions['authenticate'];
  readonly instruments: Instruments;
  readonly changes: ToldChanges;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
};
