import { describe, expect, test } from 'vitest';
import { announcementKeys, createAnnounce, isAnnounced, isOutdated, judgeAnnouncement } from '../../../shared/bus/announcement.ts';
import type { Headers } from '../../../shared/bus/messages.ts';

const [secret, next] = ['a'.repeat(32), 'b'.repeat(32)];
const idsOf = (...secrets: string[]) => announcementKeys(secrets).map(({ id }) => id);
const trust = { keys: idsOf(secret), required: true };
const announce = createAnnounce(announcementKeys([secret]), () => 1_000);
const messages = Array.from({ length: 40 }, (_, nth) => ({ subject: `assign.europe.${nth}`, data: nth === 7 ? '' : `{"nth":${nth}}` }));
const said = announce(messages);

const judged = (nth: number, more: { subject?: string; data?: string; headers?: Headers } = {}, of = trust) => {
  const headers = more.headers ?? said[nth] ?? {};
  const { subject, data } = { subject: messages[nth]?.subject ?? '', data: messages[nth]?.data ?? '', ...more };
  return judgeAnnouncement(of, { data: Buffer.from(data), header: (name) => headers[name] }, subject);
};

describe('an announcement', () => {
  test('is believed with its revision when a coordinator signed it, alone or together with others, and empty ones too', () => {
    for (const nth of messages.keys()) expect(judged(nth)).toEqual({ is: 'accepted', revision: 1_000 });
    const [alone = {}] = announce([{ subject: 'roster', data: '{}' }]);
    expect(judged(0, { subject: 'roster', data: '{}', headers: alone })).toEqual({ is: 'accepted', revision: 1_000 });
  });

  test('is refused on another subject, with other bytes, with another revision, signed by someone else, or not signed', () => {
    const wrong = { is: 'refused', why: 'wrong_signature' };
    expect(judged(3, { subject: 'assign.europe.4' })).toEqual(wrong);
    expect(judged(3, { subject: 'look.3' })).toEqual(wrong);
    expect(judged(3, { data: '' })).toEqual(wrong);
    expect(judged(7, { data: '{"nth":8}' })).toEqual(wrong);
    for (const Revision of ['1001', '', '-1', '1e3']) expect(judged(3, { headers: { ...said[3], Revision } })).toEqual(wrong);
    expect(judged(3, {}, { keys: idsOf(next), required: true })).toEqual(wrong);
    expect(judged(3, { headers: {} })).toEqual({ is: 'refused', why: 'not_signed' });
  });

  test('that is not signed counts until signatures are required, and one that is signed wrongly never does', () => {
    const lenient = { keys: idsOf(secret), required: false };
    expect(judged(3, { headers: {} }, lenient)).toEqual({ is: 'accepted', revision: undefined });
    expect(judged(3, { subject: 'roster' }, lenient)).toEqual({ is: 'refused', why: 'wrong_signature' });
    expect(judged(3, {}, { keys: [], required: false })).toEqual({ is: 'accepted', revision: undefined });
    expect(judged(3, {}, { keys: [], required: true })).toEqual({ is: 'refused', why: 'not_signed' });
  });

  test('is signed by both keys while one replaces the other, so that whoever knows either believes it', () => {
    const both = createAnnounce(announcementKeys([next, secret]), () => 5);
    for (const count of [1, 3]) {
      const signed = both(messages.slice(0, count));
      for (const keys of [idsOf(secret), idsOf(next), idsOf(next, secret)])
        expect(judged(0, { headers: signed[0] ?? {} }, { keys, required: true })).toEqual({ is: 'accepted', revision: 5 });
    }
  });

  test('never has a smaller revision than the one before, also when the clock is set back', () => {
    let now = 9_000;
    const one = createAnnounce(announcementKeys([secret]), () => now);
    const revision = () => Number(one([{ subject: 'roster', data: '' }])[0]?.Revision);
    expect(revision()).toBe(9_000);
    now = 4_000;
    expect(revision()).toBe(9_000);
  });

  test('is outdated when what is held is newer by more than clocks differ, unless that came from a clock far ahead', () => {
    expect(isOutdated(10_000, 16_000, 20_000)).toBe(true);
    expect(isOutdated(12_000, 16_000, 20_000)).toBe(false);
    expect(isOutdated(10_000, 16_000 + 3_600_000, 20_000)).toBe(false);
  });
});

test('what coordinators say to probes and to each other is announced, and nothing else', () => {
  for (const subject of ['assign.europe.x', 'assign.marker.3', 'roster', 'look.x', 'receipt.x', 'beatkey.o.k', 'presence.x'])
    expect(isAnnounced(subject)).toBe(true);
  for (const subject of ['result.europe.1.x', 'beat.europe.1.x', 'lastbeats.o.m', '$JS.API.INFO', 'relay.x.roster', 'rosters'])
    expect(isAnnounced(subject)).toBe(false);
});
