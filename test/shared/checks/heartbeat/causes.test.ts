import { expect, test } from 'vitest';
import { causeSentence } from '../../../../shared/checks/causes.ts';

const minute = 60_000;

test('causes are plain sentences', () => {
  const say = (cls: string, params: Record<string, string | number>) => causeSentence({ class: cls, params });
  expect(say('heartbeat_late', { silent_ms: 12.4 * minute, every_ms: 5 * minute })).toBe('No heartbeat for 12 minutes (expected every 5)');
  expect(say('heartbeat_late', { silent_ms: 90 * minute, every_ms: 60 * minute })).toBe(
    'No heartbeat for 90 minutes (expected every hour)',
  );
  expect(say('heartbeat_late', { silent_ms: 100_400, every_ms: 90_000 })).toBe('No heartbeat for 100 seconds (expected every 90)');
  expect(say('heartbeat_late', { silent_ms: minute, every_ms: minute })).toBe('No heartbeat for 1 minute (expected every minute)');
  expect(say('heartbeat_late', { silent_ms: 60_600, every_ms: minute })).toBe('No heartbeat for 60 seconds (expected every minute)');
  expect(say('heartbeat_late', { silent_ms: 50 * 3_600_000, every_ms: 90 * minute })).toBe(
    'No heartbeat for 2 days (expected every 90 minutes)',
  );
  expect(say('heartbeat_late', { silent_ms: 26 * 3_600_000, schedule: '30 2 * * *' })).toBe(
    'No heartbeat for 26 hours (expected by the schedule 30 2 * * *)',
  );
  expect(say('heartbeat_unfinished', { max_run_ms: 600_000 })).toBe('The job started and did not end within 10 minutes');
  expect(say('heartbeat_unfinished', { max_run_ms: 90_000 })).toBe('The job started and did not end within 90 seconds');
  expect(say('heartbeat_unfinished', { max_run_ms: minute })).toBe('The job started and did not end within 1 minute');
});
