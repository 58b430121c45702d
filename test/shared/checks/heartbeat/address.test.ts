import { describe, expect, test } from 'vitest';
import { parsePingCall } from '../../../../shared/checks/heartbeat/state.ts';

const token = 'abcdefghijklmnopqrstuvwx';
const rid = '0198f6a0-1234-7abc-8def-0123456789ab';
const call = { token, kind: 'success', exit_code: null, rid: null };

describe('the ping address', () => {
  test.each([
    ['', call],
    ['/start', { ...call, kind: 'start' }],
    ['/fail', { ...call, kind: 'fail' }],
    ['/log', { ...call, kind: 'log' }],
    ['/0', { ...call, exit_code: 0 }],
    ['/1', { ...call, kind: 'fail', exit_code: 1 }],
    ['/255', { ...call, kind: 'fail', exit_code: 255 }],
    [`?rid=${rid}`, { ...call, rid }],
    [`/start?rid=${rid.toUpperCase()}&utm_source=x`, { ...call, kind: 'start', rid }],
    ['/7?rid=', { ...call, kind: 'fail', exit_code: 7 }],
    ['/', call],
    [`/?rid=${rid}`, { ...call, rid }],
    ['/start/', { ...call, kind: 'start' }],
    ['/0/', { ...call, exit_code: 0 }],
  ])('with %j behind the token is a beat', (more, expected) => {
    expect(parsePingCall(`/beat/${token}${more}`)).toEqual(expected);
  });

  test.each(['http://antipode.example', 'HTTPS://[2001:db8::1]:8443'])('behind %s is the same, as proxies ask for it', (place) => {
    expect(parsePingCall(`${place}/beat/${token}/start?rid=${rid}`)).toEqual({ ...call, kind: 'start', rid });
    expect(parsePingCall(`${place}?/beat/${token}`)).toBe('no_such_address');
  });

  test.each(['/256', '/999', '/1000', '/-1', '/1.5', '/START', '/begin', '//', '/start//', '/start/1', '//start', '%2Fstart'])(
    'with %j behind the token is none',
    (more) => {
      expect(parsePingCall(`/beat/${token}${more}`)).toBe('no_such_address');
    },
  );

  test('takes nothing for a run id that is no UUID, and nothing for a token that cannot be one', () => {
    for (const odd of ['7', `${rid}0`, `{${rid}}`, rid.replaceAll('-', '')])
      expect(parsePingCall(`/beat/${token}?rid=${odd}`)).toBe('rid_malformed');
    for (const odd of ['short', 'x'.repeat(65), `${token}!`, '']) expect(parsePingCall(`/beat/${odd}`)).toBe('no_such_address');
  });
});
