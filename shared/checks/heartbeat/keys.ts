import { type ConfigKeys, everyKindKeys } from '../config-key.ts';

export const heartbeatKeys = {
  ...everyKindKeys,
  grace_s: {
    meaning: 'How much later than agreed a ping may come, in seconds.',
    allowed: 'a whole number of seconds from 0 to 31,536,000',
    otherwise: 'a fifth of the interval, at least 30',
    example: 600,
  },
  schedule: {
    meaning: 'When pings are due, instead of the interval.',
    allowed: 'a cron expression of five fields, such as "30 2 * * *"',
    otherwise: 'every interval',
    example: '30 2 * * *',
  },
  timezone: {
    meaning: 'The time zone of the `schedule`.',
    allowed: 'a zone of the IANA database, such as "Europe/Berlin"',
    otherwise: 'UTC',
    example: 'Europe/Berlin',
  },
  max_run_s: {
    meaning:
      'How long a run may take from its `/start` to its end, in seconds; one that has not ended by then has failed.',
    allowed: 'a whole number of seconds from 1 to 2,592,000 (30 days)',
    otherwise: 'any time',
    example: 3_600,
  },
  ping_alias: {
    meaning:
      'An address that the job pings already: `/ping/<this UUID>` counts as well, with the endings of a heartbeat address. Stored encrypted, and shown as `***`.',
    allowed: 'a UUID, which no other monitor has',
    otherwise: 'none',
    example: 'a96a8bc5-1a74-4b37-9f0a-3d0d5f3b1a01',
  },
} as const satisfies ConfigKeys;
