import { expect, test } from 'vitest';
import { createAnnouncementReader } from '../../../probe/presence/announcements.ts';
import { createLog } from '../../../shared/base/log.ts';
import { announcementKeys, createAnnounce } from '../../../shared/bus/announcement.ts';

const keys = announcementKeys(['a'.repeat(32)]);
const silentLog = createLog({ name: 'test', level: 'silent' });

test('what is said to a probe counts on its own subject alone, as the server shows others that it delivers there, and not once newer was said', () => {
  let now = 100_000;
  const reader = createAnnouncementReader({
    trust: () => ({ keys: keys.map(({ id }) => id), required: true }),
    now: () => now,
    log: silentLog,
  });
  const announce = createAnnounce(keys, () => now);
  const signed = (subject: string) => {
    const data = Buffer.from('{}');
    const [headers = {}] = announce([{ subject, data }]);
    return { subject, data, header: (name: string) => headers[name] };
  };
  const earlier = signed('look.p');
  expect(reader.readNow(earlier, 'look.p')).toBe(true);
  // What the server delivers of a stream keeps the subject that it has there.
  expect(reader.readNow(signed('assign.europe.m'), 'look.p')).toBe(false);
  expect(reader.readNow(signed('look.q'), 'look.p')).toBe(false);
  expect(reader.refused()).toBe(2);
  now += 10_000;
  expect(reader.readNow(signed('look.p'), 'look.p')).toBe(true);
  expect(reader.readNow(earlier, 'look.p')).toBe(false);
  expect(reader.refused()).toBe(3);
});
