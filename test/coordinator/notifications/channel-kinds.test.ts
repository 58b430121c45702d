import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type ConfigRead,
  hostOf,
  mask,
  maskedChannelConfig,
  readChannelConfig,
  splitChannelConfig,
} from '../../../coordinator/notifications/channels.ts';
import { channelKinds, kindOf } from '../../../coordinator/notifications/kinds/index.ts';
import { clean, markdown } from '../../../coordinator/notifications/kinds/text.ts';
import type { ChannelKind } from '../../../coordinator/notifications/kinds/types.ts';
import type { Notification } from '../../../coordinator/notifications/message.ts';
import { disabledReasonOf, isCovered } from '../../../coordinator/notifications/policy.ts';
import {
  bodyOf,
  configs,
  jsonOf,
  made,
  requestOf,
  textsOf,
  toldOf,
} from '../../support/channels.ts';
import { hostileMessages, hostileMessagesTo } from '../../support/hostile-messages.ts';
import fc from '../../support/random.ts';
import { forms, maxBytes, schemas } from '../../support/vendors.ts';

describe('channel kinds', () => {
  const ajv = new Ajv({ allErrors: true, strict: false, verbose: false });
  addFormats.default(ajv);

  /** The elements and the text of a piece of HTML, as a reader has them. */
  const read = (html: string): { readonly elements: Set<string>; readonly text: string } => {
    const elements = new Set<string>();
    let text = '';
    const walk = (node: DefaultTreeAdapterTypes.ChildNode): void => {
      if (node.nodeName === '#text' && 'value' in node) text += node.value;
      else elements.add(node.nodeName);
      if ('childNodes' in node) for (const child of node.childNodes) walk(child);
    };
    for (const child of parseFragment(html).childNodes) walk(child);
    return { elements, text };
  };

  const runs = { numRuns: 25 };

  test('every kind has a config in these tests, an id of its own, and fields that take that config', () => {
    expect(Object.keys(configs).toSorted()).toEqual(channelKinds.map(({ id }) => id).toSorted());
    expect(new Set(channelKinds.map(({ id }) => id)).size).toBe(channelKinds.length);
    for (const kind of channelKinds)
      for (const [name, value] of Object.entries(configs[kind.id] ?? {}))
        expect(kind.fields[name]?.pattern.test(value), `${kind.id}.${name}`).toBe(true);
  });

  describe.each(Object.keys({ ...schemas, ...forms }))('%s', (id) => {
    const validate = ajv.compile(schemas[id] ?? forms[id] ?? {});

    test('makes a body that the vendor accepts of every message: its shape, its lengths, its bytes', () => {
      fc.assert(
        fc.property(hostileMessagesTo(id), (notification) => {
          const { body } = requestOf(made(id, notification));
          const content = jsonOf(id, notification);
          expect(validate(content), `${JSON.stringify(validate.errors)?.slice(0, 500)}`).toBe(true);
          expect(Buffer.byteLength(body)).toBeLessThanOrEqual(
            maxBytes[id] ?? Number.POSITIVE_INFINITY,
          );
          expect(body.isWellFormed()).toBe(true);
        }),
        runs,
      );
    });

    test('makes the same message of the same event, so that a retry does not differ', () => {
      fc.assert(
        fc.property(hostileMessagesTo(id), (notification) => {
          expect(made(id, notification)).toEqual(made(id, notification));
        }),
        { numRuns: 5 },
      );
    });

    test('says what it is about: the sentence, and what else is down', () => {
      const notification = toldOf({ others_down: { count: 2, names: ['Search', 'Mail'] } });
      const said = textsOf(jsonOf(id, notification)).join('\n').replaceAll('\\', '');
      expect(said).toContain('Checkout is down: status 503, expected 2xx');
      if (id !== 'twilio_sms' && id !== 'pagerduty') expect(said).toContain('Search');
    });
  });

  describe('a name mentions no one and formats nothing', () => {
    const property = (
      check: (notification: Notification) => void,
      messages = hostileMessages,
    ): void =>
      fc.assert(
        fc.property(messages, (notification) => {
          check(notification);
        }),
        runs,
      );

    test('Slack: foreign text is plain text, and every angle bracket is a link of ours', () => {
      const slack = z.object({
        text: z.string(),
        attachments: z.array(z.object({ blocks: z.array(z.record(z.string(), z.unknown())) })),
      });
      property((notification) => {
        const { text, attachments } = slack.parse(jsonOf('slack', notification));
        expect(text).not.toMatch(/[<>]/);
        const formatted = attachments.flatMap(({ blocks }) =>
          blocks.filter((block) => JSON.stringify(block).includes('"mrkdwn"')),
        );
        expect(formatted).toHaveLength(1);
        expect(
          JSON.stringify(formatted).replaceAll(
            /<https:\/\/antipode\.example\/[\w/-]+\|[A-Z][A-Za-z ]+>/g,
            '',
          ),
        ).not.toMatch(/[<>@]/);
      });
    });

    test('Discord: nothing that a text says may call anybody', () => {
      property((notification) =>
        expect(jsonOf('discord', notification)).toMatchObject({ allowed_mentions: { parse: [] } }),
      );
    });

    test('Mattermost and incident.io: no @ has a name behind it, no bracket is one of theirs, no markup is open', () => {
      for (const id of ['mattermost', 'incident_io'])
        property((notification) => {
          const { attachments: [one] = [], description } = z
            .object({
              attachments: z
                .array(z.object({ text: z.string(), title: z.string(), fallback: z.string() }))
                .optional(),
              description: z.string().optional(),
            })
            .parse(jsonOf(id, notification));
          const text = [one?.text, one?.title, description]
            .join('\n')
            .replaceAll(/\]\(https:\/\/antipode\.example[^)]*\)/g, ']()')
            // In code nothing is a link or a mention.
            .replaceAll(/`[a-z][a-z0-9+.-]*:\/\/[^\s`<>]+`/gi, '');
          expect(`${text}${one?.fallback}`).not.toMatch(/@[\w*]/);
          expect(text).not.toMatch(/<[!@a-zA-Z]/);
          expect(text).not.toMatch(/\w:\/\/\w/);
          expect(
            text.replaceAll(/\\./gs, '').replaceAll(/^- \*\*|^\*\*|\*\*$|\*\*: /gm, ''),
          ).not.toMatch(/`|\*|~~/);
        }, hostileMessagesTo(id));
    });

    test('an address is found in a long text without comparing each letter with each', () => {
      const before = process.cpuUsage();
      expect(markdown('a'.repeat(200_000))).toHaveLength(200_000);
      const { user } = process.cpuUsage(before);
      expect(user).toBeLessThan(5_000_000);
    });

    test('Teams: foreign text is in text runs, which have no markdown, and mentions no one', () => {
      property((notification) =>
        expect(bodyOf('teams', notification)).not.toMatch(/"TextBlock"|"FactSet"|"entities"/),
      );
      const bare = jsonOf('teams', toldOf(), { form: 'card' });
      expect(
        ajv.validate(
          {
            type: 'object',
            required: ['body', 'actions'],
            properties: { type: { const: 'AdaptiveCard' } },
          },
          bare,
        ),
      ).toBe(true);
    });

    test('Google Chat: no mention opens, and cards know only the elements that are ours', () => {
      property((notification) => {
        const body = bodyOf('google_chat', notification);
        expect(body).not.toContain('<users/');
        for (const text of textsOf(JSON.parse(body)))
          expect(
            [...read(text).elements].filter((name) => !['#text', 'b', 'font'].includes(name)),
          ).toEqual([]);
      });
    });

    test('Telegram and Matrix: the HTML has no elements but ours, the text is whole, no @ calls', () => {
      property((notification) => {
        const { text } = z.object({ text: z.string() }).parse(jsonOf('telegram', notification));
        expect([...read(text).elements].filter((name) => !['b', 'a'].includes(name))).toEqual([]);
        // In a link nothing is a mention.
        expect(
          text.replaceAll(/https?:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)+(?=[/:?#\s<]|$)[^\s<>]*/gi, ''),
        ).not.toMatch(/@\w/);
        const { formatted_body } = z
          .object({ formatted_body: z.string() })
          .parse(jsonOf('matrix', notification));
        expect(
          [...read(formatted_body).elements].filter(
            (name) => !['b', 'a', 'ul', 'li', 'p'].includes(name),
          ),
        ).toEqual([]);
      });
      const name = '<b>&amp; "x" \'y\'</b>';
      const { formatted_body } = z
        .object({ formatted_body: z.string() })
        .parse(jsonOf('matrix', toldOf({ sentence: `${name} is down.` })));
      expect(read(formatted_body).text).toContain(name);
    });

    test('Zulip: no @, no # and no star is left open in what others wrote', () => {
      property((notification) => {
        const { content } = z.object({ content: z.string() }).parse(jsonOf('zulip', notification));
        expect(content.replaceAll(/\(https:[^)]*\)/g, '')).not.toMatch(
          /@|`|(?<!&)#|~|\*(?! )|_(?!circle)/,
        );
      });
    });

    test('mail: no name reaches a header of its own, and the HTML has no elements but ours', () => {
      property((notification) => {
        const mail = made('email', notification);
        if (mail.by !== 'mail') throw new Error('is no mail');
        expect(mail.subject).not.toMatch(/\p{Cc}/u);
        expect(mail.subject.length).toBeLessThanOrEqual(200);
        expect(mail.html).not.toMatch(/<script|<img|\son\w+=|javascript:/i);
        expect(mail.text.length + mail.html.length).toBeLessThan(400_000);
      });
    });

    test('push: the payload fits the limit of a push service, whatever the message', () => {
      property((notification) => {
        const push = made('web_push', notification);
        if (push.by !== 'push') throw new Error('is no push');
        expect(Buffer.byteLength(push.payload)).toBeLessThanOrEqual(3_993);
        expect(push.topic).toMatch(/^[\w-]{32}$/);
        expect(JSON.parse(push.payload)).toMatchObject({ event: notification.event });
      });
    });
  });

  test('clean leaves one line without marks that turn or hide what follows', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(clean(text)).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
    expect(clean('a\r\nb\u202ec\ud83d')).toBe('a bc\ufffd');
  });
});

describe('channel config', () => {
  const kind = (id: string): ChannelKind => {
    const found = kindOf(id);
    if (found === undefined) throw new Error(`no kind ${id}`);
    return found;
  };
  const faultsOf = (read: ConfigRead): readonly string[] =>
    'faults' in read ? Object.keys(read.faults) : [];

  describe.each(channelKinds.map((each) => [each.id, each] as const))('%s', (id, its) => {
    const config = configs[id] ?? {};

    test('accepts its config, keeps secrets apart, and returns none of them', () => {
      expect(readChannelConfig(its, config)).toEqual({ config });
      const { open, secrets } = splitChannelConfig(its, config);
      expect({ ...open, ...secrets }).toEqual(config);
      const shown = JSON.stringify(maskedChannelConfig(its, config));
      for (const [name, value] of Object.entries(secrets)) {
        expect(its.fields[name]?.secret).toBe(true);
        expect(shown).not.toContain(value);
      }
    });

    test('accepts a returned config again, and keeps the secrets as they are', () => {
      expect(readChannelConfig(its, maskedChannelConfig(its, config), config)).toEqual({ config });
    });

    test('names what is missing, unknown or not a text', () => {
      const needed = Object.keys(its.fields).filter((name) => its.fields[name]?.optional !== true);
      expect(faultsOf(readChannelConfig(its, {})).toSorted()).toEqual(needed.toSorted());
      expect(faultsOf(readChannelConfig(its, { ...config, colour: 'red' }))).toEqual(['colour']);
      for (const name of needed) {
        expect(faultsOf(readChannelConfig(its, { ...config, [name]: 7 }))).toEqual([name]);
        expect(faultsOf(readChannelConfig(its, { ...config, [name]: 'a\nb' }))).toEqual([name]);
        expect(faultsOf(readChannelConfig(its, { ...config, [name]: 'x'.repeat(5_000) }))).toEqual([
          name,
        ]);
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
    expect(maskedChannelConfig(kind('slack'), configs.slack ?? {})).toEqual({
      url: `https://hooks.slack.com/${mask}`,
    });
  });

  test('accepts addresses of the vendor only, whatever comes before or behind them', () => {
    const taken = (id: string, url: string): boolean =>
      'config' in readChannelConfig(kind(id), { ...configs[id], url });
    for (const url of [
      'https://hooks.slack.com.evil.example/services/T000/B000/XXXXXXXX',
      'https://hooks.slack.com@evil.example/services/T000/B000/XXXXXXXX',
      'https://evil.example/?https://hooks.slack.com/services/T000/B000/XXXXXXXX',
      'http://hooks.slack.com/services/T000/B000/XXXXXXXX',
      'https://hooks.slack.com:8443/services/T000/B000/XXXXXXXX',
      'https://hooks.slack.com/services/../../T000/B000',
    ])
      expect(taken('slack', url), url).toBe(false);
    expect(
      taken('teams', 'https://shop.webhook.office.com/webhookb2/abc/IncomingWebhook/def/ghi'),
    ).toBe(false);
    expect(taken('teams', 'https://evil.example/.logic.azure.com/workflows/abc/triggers')).toBe(
      false,
    );
    expect(
      taken(
        'teams',
        'https://default1.ab.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/a/triggers',
      ),
    ).toBe(true);
    expect(taken('webhook', 'https://name:word@shop.example/')).toBe(false);
    expect(taken('webhook', 'javascript:alert(1)')).toBe(false);
  });

  describe('a secret belongs to the host that it was given for', () => {
    const gotify = kind('gotify');
    const stored = configs.gotify ?? {};

    test('another path of the same host keeps it', () => {
      const read = readChannelConfig(
        gotify,
        { url: 'https://gotify.shop.example/other', token: mask },
        stored,
      );
      expect(read).toEqual({
        config: { url: 'https://gotify.shop.example/other', token: 'Asecret' },
      });
    });

    test.each([
      'https://evil.example',
      'http://gotify.shop.example',
      'https://gotify.shop.example:8443',
    ])('%s must be entered again', (url) => {
      expect(faultsOf(readChannelConfig(gotify, { url, token: mask }, stored))).toEqual(['token']);
      expect(readChannelConfig(gotify, { url, token: 'Aother' }, stored)).toEqual({
        config: { url, token: 'Aother' },
      });
    });

    test('a mask without anything stored is no secret', () => {
      expect(
        faultsOf(readChannelConfig(gotify, { url: 'https://gotify.shop.example', token: mask })),
      ).toEqual(['token']);
      expect(
        faultsOf(readChannelConfig(kind('slack'), { url: `https://hooks.slack.com/${mask}` })),
      ).toEqual(['url']);
    });

    test('a webhook keeps its own secret wherever it goes, and gives up the header that was for another host', () => {
      const before = { ...configs.webhook, authorization: 'Bearer theirs' };
      const shown = maskedChannelConfig(kind('webhook'), before);
      expect(
        faultsOf(
          readChannelConfig(
            kind('webhook'),
            { ...shown, url: 'https://elsewhere.example/' },
            before,
          ),
        ),
      ).toEqual(['authorization']);
      const { authorization: _, ...rest } = shown;
      expect(
        readChannelConfig(kind('webhook'), { ...rest, url: 'https://elsewhere.example/' }, before),
      ).toEqual({
        config: { secret: configs.webhook?.secret, url: 'https://elsewhere.example/' },
      });
    });
  });
});

describe('rule 30: what a channel covers', () => {
  const chosen = {
    covers: 'chosen',
    monitors: new Set(['shop']),
    groups: new Set(['web']),
  } as const;

  test.each([
    [
      'all, whatever was chosen before',
      { ...chosen, covers: 'all' },
      { id: 'mail', group: null },
      true,
    ],
    ['a monitor that was chosen', chosen, { id: 'shop', group: null }, true],
    ['a monitor of a group that was chosen', chosen, { id: 'cart', group: 'web' }, true],
    ['no other', chosen, { id: 'mail', group: 'office' }, false],
    ['no monitor without a group by its group', chosen, { id: 'mail', group: null }, false],
  ] as const)('rule 30: %s', (_, coverage, monitor, covered) => {
    expect(isCovered(coverage, monitor)).toBe(covered);
  });

  test('rule 30: a channel that is off, deleted, not confirmed, or whose address has unsubscribed gets no message', () => {
    const open = { deleted: false, enabled: true, verified: true, unsubscribed: false };
    expect(disabledReasonOf(open)).toBeUndefined();
    expect(disabledReasonOf({ ...open, deleted: true })).toBe('deleted');
    expect(disabledReasonOf({ ...open, enabled: false })).toBe('off');
    expect(disabledReasonOf({ ...open, verified: false })).toBe('unproven');
    expect(disabledReasonOf({ ...open, unsubscribed: true })).toBe('unsubscribed');
  });
});

/** By what a channel shares places on the way with others. */
describe('host of channel', () => {
  const expected: Readonly<Record<string, string>> = {
    email: 'mail',
    telegram: 'api.telegram.org',
    pushover: 'api.pushover.net',
    pagerduty: 'events.pagerduty.com',
    twilio_sms: 'api.twilio.com',
  };

  test.each(channelKinds.map((kind) => [kind.id, kind] as const))(
    '%s goes where its settings say, or to its vendor',
    (id, kind) => {
      const config = configs[id] ?? {};
      const own = URL.parse(config.endpoint ?? config.url ?? '')?.host;
      expect(hostOf(kind, config)).toBe(own ?? expected[id]);
      expect(hostOf(kind, config)).not.toBe('');
    },
  );

  test('two addresses of one host share, and settings that make no message have no host', () => {
    const webhook = kindOf('webhook');
    if (webhook === undefined) throw new Error('there is no webhook');
    const at = (url: string) => hostOf(webhook, { ...configs.webhook, url });
    expect(at('https://shop.example/a')).toBe(at('https://shop.example/b?c'));
    expect(at('https://shop.example:8443/a')).toBe('shop.example:8443');
    expect(at('no address')).toBeNull();
  });
});
