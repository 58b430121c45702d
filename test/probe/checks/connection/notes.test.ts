import { expect, test } from 'vitest';
import { createCertificateNotes } from '../../../../probe/checks/connection/notes.ts';
import { at, day, tls } from '../../support/observations.ts';

const hour = 3_600_000;
const monitors = Array.from(
  { length: 480 },
  (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
);

test('each monitor says its certificate once a day, at a time of its own', () => {
  const certificateOf = createCertificateNotes();
  const notesIn = (from: number, to: number): string[] => {
    const said: string[] = [];
    for (let now = from; now < to; now += hour / 4)
      for (const monitor of monitors) if (certificateOf(monitor, now, [tls()])) said.push(monitor);
    return said;
  };
  expect(notesIn(at, at + hour / 4)).toEqual(monitors);
  notesIn(at + hour / 4, at + day);

  const times = new Map<string, number[]>();
  for (let hours = 0; hours < 24; hours += 1) {
    const said = notesIn(at + day + hours * hour, at + day + (hours + 1) * hour);
    // 20 in an hour on average; all of them would be 480.
    expect(said.length).toBeGreaterThan(4);
    expect(said.length).toBeLessThan(40);
    for (const monitor of said) times.set(monitor, [...(times.get(monitor) ?? []), hours]);
  }
  expect([...times.keys()].toSorted()).toEqual(monitors);
  expect([...times.values()].every((each) => each.length === 1)).toBe(true);

  for (let hours = 0; hours < 24; hours += 1)
    for (const monitor of notesIn(at + (2 * 24 + hours) * hour, at + (2 * 24 + hours + 1) * hour))
      expect(times.get(monitor), monitor).toEqual([hours]);
});

test('another certificate is said at once, and a handshake that shows none is passed over', () => {
  const certificateOf = createCertificateNotes();
  const [monitor = ''] = monitors;
  const renewed = tls({ valid_to: at + 200 * day });
  expect(certificateOf(monitor, at, [null, tls()])).toMatchObject({ ends_at: at + 90 * day });
  expect(certificateOf(monitor, at + 1, [tls()])).toBeUndefined();
  expect(certificateOf(monitor, at + 2, [null])).toBeUndefined();
  expect(certificateOf(monitor, at + 3, [renewed])).toMatchObject({ ends_at: at + 200 * day });
  expect(certificateOf(monitor, at + 4, [renewed])).toBeUndefined();
});
