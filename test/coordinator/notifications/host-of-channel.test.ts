import { expect, test } from 'vitest';
import { hostOf } from '../../../coordinator/notifications/channels.ts';
import { channelKinds, kindOf } from '../../../coordinator/notifications/kinds/index.ts';
import { configs } from '../../support/channels.ts';

/** By what a channel shares places on the way with others. */

const expected: Readonly<Record<string, string>> = {
  email: 'mail',
  telegram: 'api.telegram.org',
  pushover: 'api.pushover.net',
  pagerduty: 'events.pagerduty.com',
  twilio_sms: 'api.twilio.com',
};

test.each(channelKinds.map((kind) => [kind.id, kind] as const))('%s goes where its settings say, or to its vendor', (id, kind) => {
  const config = configs[id] ?? {};
  const own = URL.parse(config.endpoint ?? config.url ?? '')?.host;
  expect(hostOf(kind, config)).toBe(own ?? expected[id]);
  expect(hostOf(kind, config)).not.toBe('');
});

test('two addresses of one host share, and settings that make no message have no host', () => {
  const webhook = kindOf('webhook');
  if (webhook === undefined) throw new Error('there is no webhook');
  const at = (url: string) => hostOf(webhook, { ...configs.webhook, url });
  expect(at('https://shop.example/a')).toBe(at('https://shop.example/b?c'));
  expect(at('https://shop.example:8443/a')).toBe('shop.example:8443');
  expect(at('no address')).toBeNull();
});
