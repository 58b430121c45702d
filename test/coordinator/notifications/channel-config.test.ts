import { describe, expect, test } from 'vitest';
import {
  type ConfigRead,
  mask,
  maskedChannelConfig,
  readChannelConfig,
  splitChannelConfig,
} from '../../../coordinator/notifications/channels.ts';
import { channelKinds, kindOf } from '../../../coordinator/notifications/kinds/index.ts';
import type { ChannelKind } from '../../../coordinator/notifications/kinds/types.ts';
import { configs } from '../../support/channels.ts';

const kind = (id: string): ChannelKind => {
  const found = kindOf(id);
  if (found === undefined) throw new Error(`no kind ${id}`);
  return found;
};
const faultsOf = (read: ConfigRead): readonly string[] => ('faults' in read ? Object.keys(read.faults) : []);

describe.each(channelKinds.map((each) => [each.id, each] as const))('%s', (id, its) => {
  const config = configs[id] ?? {};

  test('takes its config, keeps secrets apart, and shows none of them', () => {
    expect(readChannelConfig(its, config)).toEqual({ config });
    const { open, secrets } = splitChannelConfig(its, config);
    expect({ ...open, ...secrets }).toEqual(config);
    const shown = JSON.stringify(maskedChannelConfig(its, config));
    for (const [name, value] of Object.entries(secrets)) {
      expect(its.fields[name]?.secret).toBe(true);
      expect(shown).not.toContain(value);
    }
  });

  test('what was shown may come back, and leaves the secrets as they are', () => {
    expect(readChannelConfig(its, maskedChannelConfig(its, config), config)).toEqual({ config });
  });

  test('what is missing, unknown or no text is named', () => {
    const needed = Object.keys(its.fields).filter((name) => its.fields[name]?.optional !== true);
    expect(faultsOf(readChannelConfig(its, {})).toSorted()).toEqual(needed.toSorted());
    expect(faultsOf(readChannelConfig(its, { ...config, colour: 'red' }))).toEqual(['colour']);
    for (const name of needed) {
      expect(faultsOf(readChannelConfig(its, { ...config, [name]: 7 }))).toEqual([name]);
      expect(faultsOf(readChannelConfig(its, { ...config, [name]: 'a\nb' }))).toEqual([name]);
      expect(faultsOf(readChannelConfig(its, { ...config, [name]: 'x'.repeat(5_000) }))).toEqual([name]);
    }
  });

  test('every field has words for a value that is wrong, and a name for people', () => {
    for (const field of Object.values(its.fields)) {
      expect(field.label).not.toBe('');
      expect(field.fault).toMatch(/^must /);
      // As the `pattern` of a form is read, so that both say the same.
      expect(field.pattern.flags).toBe('v');
    }
  });
});

test('an address that is a secret in itself is shown as its host alone', () => {
  expect(maskedChannelConfig(kind('slack'), configs.slack ?? {})).toEqual({ url: `https://hooks.slack.com/${mask}` });
});

test('addresses are those of the vendor, whoever writes what before or behind them', () => {
  const taken = (id: string, url: string): boolean => 'config' in readChannelConfig(kind(id), { ...configs[id], url });
  for (const url of [
    'https://hooks.slack.com.evil.example/services/T000/B000/XXXXXXXX',
    'https://hooks.slack.com@evil.example/services/T000/B000/XXXXXXXX',
    'https://evil.example/?https://hooks.slack.com/services/T000/B000/XXXXXXXX',
    'http://hooks.slack.com/services/T000/B000/XXXXXXXX',
    'https://hooks.slack.com:8443/services/T000/B000/XXXXXXXX',
    'https://hooks.slack.com/services/../../T000/B000',
  ])
    expect(taken('slack', url), url).toBe(false);
  expect(taken('teams', 'https://shop.webhook.office.com/webhookb2/abc/IncomingWebhook/def/ghi')).toBe(false);
  expect(taken('teams', 'https://evil.example/.logic.azure.com/workflows/abc/triggers')).toBe(false);
  expect(
    taken('teams', 'https://default1.ab.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/a/triggers'),
  ).toBe(true);
  expect(taken('webhook', 'https://name:word@shop.example/')).toBe(false);
  expect(taken('webhook', 'javascript:alert(1)')).toBe(false);
});

describe('a secret belongs to the host that it was given for', () => {
  const gotify = kind('gotify');
  const stored = configs.gotify ?? {};

  test('another path of the same host keeps it', () => {
    const read = readChannelConfig(gotify, { url: 'https://gotify.shop.example/other', token: mask }, stored);
    expect(read).toEqual({ config: { url: 'https://gotify.shop.example/other', token: 'Asecret' } });
  });

  test.each(['https://evil.example', 'http://gotify.shop.example', 'https://gotify.shop.example:8443'])('%s wants it anew', (url) => {
    expect(faultsOf(readChannelConfig(gotify, { url, token: mask }, stored))).toEqual(['token']);
    expect(readChannelConfig(gotify, { url, token: 'Aother' }, stored)).toEqual({ config: { url, token: 'Aother' } });
  });

  test('a mask without anything stored is no secret', () => {
    expect(faultsOf(readChannelConfig(gotify, { url: 'https://gotify.shop.example', token: mask }))).toEqual(['token']);
    expect(faultsOf(readChannelConfig(kind('slack'), { url: `https://hooks.slack.com/${mask}` }))).toEqual(['url']);
  });

  test('a webhook keeps its own secret wherever it goes, and gives up the header that was for another host', () => {
    const before = { ...configs.webhook, authorization: 'Bearer theirs' };
    const shown = maskedChannelConfig(kind('webhook'), before);
    expect(faultsOf(readChannelConfig(kind('webhook'), { ...shown, url: 'https://elsewhere.example/' }, before))).toEqual([
      'authorization',
    ]);
    const { authorization: _, ...rest } = shown;
    expect(readChannelConfig(kind('webhook'), { ...rest, url: 'https://elsewhere.example/' }, before)).toEqual({
      config: { secret: configs.webhook?.secret, url: 'https://elsewhere.example/' },
    });
  });
});
