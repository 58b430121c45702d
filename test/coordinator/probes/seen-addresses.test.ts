import { describe, expect, test } from 'vitest';
import { createSeenAddresses, proveAddress } from '../../../coordinator/probes/seen-addresses.ts';
import type { PresenceMessage } from '../../../shared/bus/messages.ts';

describe('where a probe comes from', () => {
  const probe = {
    id: 'p',
    keys: [
      { key: 'old', until: 1 },
      { key: 'new', until: null },
    ],
  };
  const secretKeys = ['key', 'previous'];
  const seen = (said: Pick<PresenceMessage, 'way' | 'comes_from'> | undefined) => {
    const bus: Readonly<Record<string, string>> = { old: '192.0.2.1', new: '192.0.2.7' };
    const addresses = createSeenAddresses(secretKeys, (key) => bus[key]);
    if (said) addresses.hear(probe.id, { ...presence, ...said });
    return addresses.of(probe);
  };
  const passedOn = (comes_from?: string) =>
    seen({ way: 'websocket', ...(comes_from === undefined ? {} : { comes_from }) });

  test('is what the bus sees of its newest key, by TCP', () => {
    expect(seen(undefined)).toBe('192.0.2.7');
    expect(seen({ way: 'tcp', comes_from: proveAddress('key', '203.0.113.9') })).toBe('192.0.2.7');
  });

  test('is what the coordinator proves that passes it on, and never that coordinator', () => {
    expect(passedOn(proveAddress('key', '203.0.113.9'))).toBe('203.0.113.9');
    expect(passedOn(proveAddress('previous', '2001:db8::1'))).toBe('2001:db8::1');
    expect(passedOn()).toBeUndefined();
  });

  test.each([
    ['made up', '203.0.113.9 x'],
    ['without a proof', '203.0.113.9'],
    ['of another key', proveAddress('other', '203.0.113.9')],
    ['of another address', proveAddress('key', '203.0.113.9').replace('.9 ', '.8 ')],
  ])('is not known by a proof that is %s', (_, text) => {
    expect(passedOn(text)).toBeUndefined();
  });
});

const id = '00000000-0000-4000-8000-000000000001';
const presence: PresenceMessage = {
  ...{ v: 1, probe: id, generation: id, session: id, up_ms: 0, sent_at: 0, version: '1.0.0' },
  ...{ seal_key: '', allowed_cidrs: [], ear: null, handed_over: true },
  spool: { waiting: 0, dropped: 0, bytes: 0 },
  assignments: { count: 0, digest: '', roster_epoch: 0 },
  load: { in_flight: 0, late_ms: 0 },
  self_test: { ok: true, detail: '' },
};
