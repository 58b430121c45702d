import { expect, test } from 'vitest';
import { isOldZoneData, zoneDataAt } from '../../../coordinator/maintenance/recurrence.ts';

const at = (day: string): number => Date.parse(`${day}T12:00:00Z`);

test('a version that this release knows is as old as its date says', () => {
  expect(zoneDataAt('2026c', at('2026-07-09'))).toEqual({ version: '2026c', released_on: '2026-07-08', least_age_days: 1 });
  expect(isOldZoneData(zoneDataAt('2026c', at('2026-11-05')))).toBe(false);
  expect(isOldZoneData(zoneDataAt('2026c', at('2026-11-06')))).toBe(true);
});

test('of any other only its year is known, and it is called old when it must be', () => {
  expect(zoneDataAt('2027b', at('2027-12-30'))).toEqual({ version: '2027b', released_on: null, least_age_days: null });
  expect(isOldZoneData(zoneDataAt('2027b', at('2027-12-30')))).toBe(false);
  expect(zoneDataAt('2027b', at('2028-01-10'))).toMatchObject({ released_on: null, least_age_days: 10 });
  expect(isOldZoneData(zoneDataAt('2027b', at('2028-04-30')))).toBe(true);
});

test('what has no version, or one of another kind, is called neither old nor young', () => {
  for (const version of [undefined, 'system', '', 'constructor'])
    expect(zoneDataAt(version, at('2026-07-09')).least_age_days, version).toBeNull();
});

test('the version that comes with this release has its date', () => {
  expect(zoneDataAt(process.versions.tz, 0).released_on).toMatch(/^\d{4}-\d\d-\d\d$/);
});
