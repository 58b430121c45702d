import { warningCodes } from '../checks/warnings.ts';
import { array, dateTime, dict, grown, object, string, uuid } from './fields.ts';
import { exampleIds } from './operation.ts';

/** What passing checks warn of (rule 44), on a monitor, its status and its group. */
const WarningOut = object('WarningOut', {
  code: string({
    description: `${warningCodes.map((code) => `\`${code}\``).join(', ')}. There may be others later.`,
    example: 'certificate_expires',
  }),
  since: dateTime({
    description: 'When the first check began that saw it.',
    example: '2026-11-18T04:12:09.000Z',
  }),
  text: string({
    description: 'What it is, in one sentence.',
    example: 'Certificate expires in 5 days',
  }),
  details: dict({ description: 'What the sentence is made of.', example: { stage: 7 } }),
  monitor: uuid({ example: exampleIds.monitor }),
});

export const warnings = grown(
  array(WarningOut, {
    meaning:
      'What passing checks warn of. A warning is never downtime, and `status` says nothing of it.',
  }),
  [],
);
