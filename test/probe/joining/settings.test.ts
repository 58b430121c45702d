import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { settingsGiven } from '../../../probe/config.ts';
import { settingIn, withSettings } from '../../../probe/joining/join.ts';

describe('the settings of a probe that systemd runs', () => {
  test('are those that the shell has, of a probe alone, and neither who it is nor where its things lie', () => {
    const shell = {
      PATH: '/bin',
      PROBE_SPOOL_MB: '64',
      PROBE_DATA_DIR: '/x',
      PROBE_IDENTITY_FILE: '/y',
      PROBE_ALLOW_CIDRS: '',
      LOG_LEVEL: 'debug',
    };
    expect(settingsGiven(shell)).toEqual({ PROBE_SPOOL_MB: '64', LOG_LEVEL: 'debug' });
    expect(() => settingsGiven({ PROBE_ALLOW_CIDRS: 'here', LOG_LEVEL: 'loud' })).toThrow(
      /PROBE_ALLOW_CIDRS: must be addresses[\s\S]*LOG_LEVEL/,
    );
  });

  test('are written beside what stands there, and take the place of what they replace', () => {
    const before = '# mine\nPROBE_EAR_PORT=8090\nPROBE_SPOOL_MB=10\n\n';
    const after = withSettings(before, { PROBE_SPOOL_MB: '64', PROBE_ALLOW_CIDRS: '10.0.0.0/8,fd00::/8' });
    expect(after).toBe('# mine\nPROBE_EAR_PORT=8090\nPROBE_SPOOL_MB=64\nPROBE_ALLOW_CIDRS=10.0.0.0/8,fd00::/8\n');
    expect(settingIn(after, 'PROBE_SPOOL_MB')).toBe('64');
    expect(settingIn(after, 'PROBE_CONCURRENCY')).toBeUndefined();
    expect(withSettings(after, { PROBE_SPOOL_MB: '64' }).endsWith('PROBE_SPOOL_MB=64\n')).toBe(true);
  });

  test('survive what is in them: several lines, and what a reader would take for its own', () => {
    const certificate = '-----BEGIN CERTIFICATE-----\nMII+/=\n-----END CERTIFICATE-----';
    const text = withSettings(undefined, { PROBE_NATS_CA: certificate, PROBE_EAR_HOST: 'a b' });
    expect(parseEnv(text)).toEqual({ PROBE_NATS_CA: certificate, PROBE_EAR_HOST: 'a b' });
    expect(withSettings('', { LOG_LEVEL: '"$x`\\' })).toContain(String.raw`LOG_LEVEL="\"\$x\`\\"`);
  });
});
