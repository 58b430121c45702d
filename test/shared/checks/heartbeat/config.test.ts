import { describe, expect, test } from 'vitest';
import { configFaults, faultsSentence } from '../../../../shared/checks/config.ts';
import type { Json } from '../../../../shared/checks/result.ts';

const sentence = (config: Readonly<Record<string, Json>>): string => faultsSentence(configFaults('heartbeat', '', config, 3_600));

describe('a heartbeat config', () => {
  test.for<readonly [config: Readonly<Record<string, Json>>]>([
    [{}],
    [{ grace_s: 0, max_run_s: 2_592_000 }],
    [{ schedule: '30 2 * * MON-FRI', timezone: 'Europe/Berlin' }],
    [{ schedule: '@daily' }],
    [{ schedule: ' 0  3 29 feb * ' }],
    [{ schedule: null, timezone: null, grace_s: null }],
  ])('is taken: %j', ([config]) => {
    expect(sentence(config)).toBe('');
  });

  test.for<readonly [config: Readonly<Record<string, Json>>, said: string]>([
    [{ grace_s: -1 }, '`grace_s` cannot be used: give a whole number of seconds from 0 to 31,536,000'],
    [{ grace_s: '10m' }, '`grace_s` cannot be used: give a whole number of seconds from 0 to 31,536,000'],
    [{ max_run_s: 0 }, '`max_run_s` cannot be used: give a whole number of seconds from 1 to 2,592,000 (30 days)'],
    [{ schedule: 5 }, '`schedule` cannot be used: give a cron expression of five fields, such as "30 2 * * *"'],
    [
      { schedule: '0 25 * * *' },
      '`schedule` cannot be used: "25" is no hour; it takes 0 to 23, ranges (1-5), lists (1,3) and steps (*/15)',
    ],
    [{ schedule: '0 0 30 2 *' }, '`schedule` cannot be used: it never comes: there is no such day'],
    [
      { schedule: '*/5 * * * * *' },
      '`schedule` cannot be used: give five fields (minute, hour, day of month, month, day of week), such as "30 2 * * *", or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly',
    ],
    [{ schedule: '0 3 * * *', timezone: '+02:00' }, '`timezone` cannot be used: give a zone of the IANA database, such as "Europe/Berlin"'],
    [{ timezone: 'Europe/Berlin' }, '`timezone` cannot be used: give a `schedule` too; an interval is the same in every zone'],
  ])('is refused with the one thing that is wrong: %j', ([config, said]) => {
    expect(sentence(config)).toBe(said);
  });
});
