import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { channelKinds, kindOf } from '../../../coordinator/notifications/kinds/index.ts';
import { clean } from '../../../coordinator/notifications/kinds/text.ts';
import type { Outgoing, OutgoingRequest } from '../../../coordinator/notifications/kinds/types.ts';
import type { Told } from '../../../coordinator/notifications/message.ts';
import { configs, hostileMessages, toldOf } from '../../support/channels.ts';
import { forms, maxBytes, schemas } from '../../support/vendors.ts';

const ajv = new Ajv({ allErrors: true, strict: false, verbose: false });
addFormats.default(ajv);

const made = (id: string, told: Told, more: Readonly<Record<string, string>> = {}): Outgoing => {
  const kind = kindOf(id);
  if (kind === undefined) throw new Error(`no kind ${id}`);
  return kind.message(told, { ...configs[id], ...more }, told.at + 1_000);
};

const requestOf = (outgoing: Outgoing): OutgoingRequest => {
  if (outgoing.by !== 'https') throw new Error(`goes by ${outgoing.by}`);
  return outgoing;
};
const bodyOf = (id: string, told: Told, more: Readonly<Record<string, string>> = {}): string => {
  const { body, headers } = requestOf(made(id, told, more));
  return headers['content-type'] === 'application/json' ? body : JSON.stringify(Object.fromEntries(new URLSearchParams(body)));
};
const jsonOf = (id: string, told: Told, more: Readonly<Record<string, string>> = {}): unknown => JSON.parse(bodyOf(id, told, more));

const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
};

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

const runs = { numRuns: 60 };

test('every kind has a config in these tests, an id of its own, and fields that take that config', () => {
  expect(Object.keys(configs).toSorted()).toEqual(channelKinds.map(({ id }) => id).toSorted());
  expect(new Set(channelKinds.map(({ id }) => id)).size).toBe(channelKinds.length);
  for (const kind of channelKinds)
    for (const [name, value] of Object.entries(configs[kind.id] ?? {}))
      expect(kind.fields[name]?.pattern.test(value), `${kind.id}.${name}`).toBe(true);
});

describe.each(Object.keys({ ...schemas, ...forms }))('%s', (id) => {
  const validate = ajv.compile(schemas[id] ?? forms[id] ?? {});

  test('makes of anything that is told a body that the vendor takes: its shape, its lengths, its bytes', () => {
    fc.assert(
      fc.property(hostileMessages, (told) => {
        const { body } = requestOf(made(id, told));
        const content = jsonOf(id, told);
        expect(validate(content), `${JSON.stringify(validate.errors)?.slice(0, 500)}`).toBe(true);
        expect(Buffer.byteLength(body)).toBeLessThanOrEqual(maxBytes[id] ?? Number.POSITIVE_INFINITY);
        expect(body.isWellFormed()).toBe(true);
      }),
      runs,
    );
  });

  test('the same told twice makes the same message, so that another attempt is no other message', () => {
    fc.assert(
      fc.property(hostileMessages, (told) => {
        expect(made(id, told)).toEqual(made(id, told));
      }),
      { numRuns: 5 },
    );
  });

  test('says what it is about: the sentence, and what else is down', () => {
    const told = toldOf({ others_down: { count: 2, names: ['Search', 'Mail'] } });
    const said = textsOf(jsonOf(id, told)).join('\n').replaceAll('\\', '');
    expect(said).toContain('Checkout is down: status 503, expected 2xx');
    if (id !== 'twilio_sms' && id !== 'pagerduty') expect(said).toContain('Search');
  });
});

describe('a name calls nobody and formats nothing', () => {
  const property = (check: (told: Told) => void): void =>
    fc.assert(
      fc.property(hostileMessages, (told) => {
        check(told);
      }),
      runs,
    );

  test('Slack: what others wrote stands in plain text alone, and every angle bracket of ours is a link of ours', () => {
    const slack = z.object({ text: z.string(), attachments: z.array(z.object({ blocks: z.array(z.record(z.string(), z.unknown())) })) });
    property((told) => {
      const { text, attachments } = slack.parse(jsonOf('slack', told));
      expect(text).not.toMatch(/[<>]/);
      const formatted = attachments.flatMap(({ blocks }) => blocks.filter((block) => JSON.stringify(block).includes('"mrkdwn"')));
      expect(formatted).toHaveLength(1);
      expect(JSON.stringify(formatted).replaceAll(/<https:\/\/antipode\.example\/[\w/-]+\|[A-Z][A-Za-z ]+>/g, '')).not.toMatch(/[<>@]/);
    });
  });

  test('Discord: nothing that a text says may call anybody', () => {
    property((told) => expect(jsonOf('discord', told)).toMatchObject({ allowed_mentions: { parse: [] } }));
  });

  test('Mattermost and incident.io: no @ has a name behind it, no bracket is one of theirs, no markup is open', () => {
    for (const id of ['mattermost', 'incident_io'])
      property((told) => {
        const { attachments: [one] = [], description } = z
          .object({
            attachments: z.array(z.object({ text: z.string(), title: z.string(), fallback: z.string() })).optional(),
            description: z.string().optional(),
          })
          .parse(jsonOf(id, told));
        const text = [one?.text, one?.title, description]
          .join('\n')
          .replaceAll(/\]\(https:\/\/antipode\.example[^)]*\)/g, ']()')
          // In code nothing is a link or a mention.
          .replaceAll(/`[a-z][a-z0-9+.-]*:\/\/[^\s`<>]+`/gi, '');
        expect(`${text}${one?.fallback}`).not.toMatch(/@[\w*]/);
        expect(text).not.toMatch(/<[!@a-zA-Z]/);
        expect(text).not.toMatch(/\w:\/\/\w/);
        expect(text.replaceAll(/\\./gs, '').replaceAll(/^- \*\*|^\*\*|\*\*$|\*\*: /gm, '')).not.toMatch(/`|\*|~~/);
      });
  });

  test('Teams: what others wrote stands in text runs, which know no markdown, and nothing names anybody', () => {
    property((told) => expect(bodyOf('teams', told)).not.toMatch(/"TextBlock"|"FactSet"|"entities"/));
    const bare = jsonOf('teams', toldOf(), { form: 'card' });
    expect(ajv.validate({ type: 'object', required: ['body', 'actions'], properties: { type: { const: 'AdaptiveCard' } } }, bare)).toBe(
      true,
    );
  });

  test('Google Chat: no mention opens, and cards know only the elements that are ours', () => {
    property((told) => {
      const body = bodyOf('google_chat', told);
      expect(body).not.toContain('<users/');
      for (const text of textsOf(JSON.parse(body)))
        expect([...read(text).elements].filter((name) => !['#text', 'b', 'font'].includes(name))).toEqual([]);
    });
  });

  test('Telegram and Matrix: the HTML has no elements but ours, the text is whole, no @ calls', () => {
    property((told) => {
      const { text } = z.object({ text: z.string() }).parse(jsonOf('telegram', told));
      expect([...read(text).elements].filter((name) => !['b', 'a'].includes(name))).toEqual([]);
      // In a link nothing is a mention.
      expect(text.replaceAll(/https?:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)+(?=[/:?#\s<]|$)[^\s<>]*/gi, '')).not.toMatch(/@\w/);
      const { formatted_body } = z.object({ formatted_body: z.string() }).parse(jsonOf('matrix', told));
      expect([...read(formatted_body).elements].filter((name) => !['b', 'a', 'ul', 'li', 'p'].includes(name))).toEqual([]);
    });
    const name = '<b>&amp; "x" \'y\'</b>';
    const { formatted_body } = z.object({ formatted_body: z.string() }).parse(jsonOf('matrix', toldOf({ sentence: `${name} is down.` })));
    expect(read(formatted_body).text).toContain(name);
  });

  test('Zulip: no @, no # and no star is left open in what others wrote', () => {
    property((told) => {
      const { content } = z.object({ content: z.string() }).parse(jsonOf('zulip', told));
      expect(content.replaceAll(/\(https:[^)]*\)/g, '')).not.toMatch(/@|`|(?<!&)#|~|\*(?! )|_(?!circle)/);
    });
  });

  test('mail: no name reaches a header of its own, and the HTML has no elements but ours', () => {
    property((told) => {
      const mail = made('email', told);
      if (mail.by !== 'mail') throw new Error('is no mail');
      expect(mail.subject).not.toMatch(/\p{Cc}/u);
      expect(mail.subject.length).toBeLessThanOrEqual(200);
      expect(mail.html).not.toMatch(/<script|<img|\son\w+=|javascript:/i);
      expect(mail.text.length + mail.html.length).toBeLessThan(400_000);
    });
  });

  test('push: the payload fits what a push service takes, whatever is told', () => {
    property((told) => {
      const push = made('web_push', told);
      if (push.by !== 'push') throw new Error('is no push');
      expect(Buffer.byteLength(push.payload)).toBeLessThanOrEqual(3_993);
      expect(push.topic).toMatch(/^[\w-]{32}$/);
      expect(JSON.parse(push.payload)).toMatchObject({ event: told.event });
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
