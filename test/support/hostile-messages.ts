import { kindOf } from '../../coordinator/notifications/kinds/index.ts';
import {
  type Notification,
  type NotifiedEvent,
  type NotifiedMonitor,
  notifiedEvents,
} from '../../coordinator/notifications/message.ts';
import { at, monitorOf, toldOf } from './channels.ts';
import fc from './random.ts';

/** What a channel may ever be told, for properties. Loading this takes 90 MB. */

const nasty = [
  '@everyone',
  '@here',
  '@channel',
  '@all',
  '<!channel>',
  '<!here|here>',
  '<@U123ABC>',
  '<@&1234567890>',
  '<users/all>',
  '@**all**',
  '@*ops*',
  '**b** _i_ `c` ~s~ [click](https://evil.example)',
  '<b>bold</b><script>alert(1)</script>',
  '&amp;&lt;',
  '"quoted" \\ \\n',
  '```',
  '| a | b |',
  '\u202edrowssap\u202c',
  'مرحبا بالعالم',
  'שלום עולם',
  '👩‍👩‍👧‍👦🇩🇪',
  'a\r\nSubject: other',
  '\u0000\u0007\u2028',
  'half \ud83d of one',
  '‹›·…€^{}[~]',
  'x'.repeat(2_000),
  '😀'.repeat(1_000),
  '"'.repeat(2_000),
  '<'.repeat(2_000),
  '@'.repeat(2_000),
  '_'.repeat(2_000),
  'ﷺ'.repeat(2_000),
];

const hostileText: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...nasty), weight: 4 },
  {
    arbitrary: fc
      .tuple(fc.constantFrom(...nasty), fc.string({ unit: 'binary', maxLength: 40 }))
      .map(([a, b]) => `${b}${a}${b}`),
    weight: 2,
  },
  { arbitrary: fc.string({ unit: 'grapheme', maxLength: 200 }), weight: 2 },
);

const event: fc.Arbitrary<NotifiedEvent> = fc.constantFrom(...notifiedEvents);

const monitor: fc.Arbitrary<NotifiedMonitor> = fc
  .record({
    event,
    name: hostileText,
    group: fc.option(hostileText),
    target: fc.option(hostileText),
    cause: hostileText,
    resolved_at: fc.option(fc.integer({ min: at, max: at + 1e9 })),
    seen_from: fc.option(hostileText),
    confirmed_from: fc.option(hostileText),
    matrix: fc.option(hostileText),
    cause_id: fc.constant(null),
  })
  .map(monitorOf);

/** Anything that delivery may ever tell, with so many monitors (none for a test). */
const messagesOf = (...counts: readonly number[]): fc.Arbitrary<Notification> =>
  fc
    .record({
      event,
      sentence: hostileText,
      some: fc.array(monitor, { minLength: 1, maxLength: 4 }),
      count: fc.constantFrom(...counts),
      others: fc.array(hostileText, { maxLength: 8 }),
      more: fc.nat(900),
      organisation: hostileText,
      acknowledge: fc.boolean(),
      reference: fc.constantFrom(
        null,
        '17',
        '$event:shop.example',
        'spaces/A/messages/B',
        '<script>',
      ),
      over: fc.boolean(),
    })
    .map(({ some, count, others, more, acknowledge, reference, over, ...told }) => {
      const plain = toldOf();
      const monitors = Array.from({ length: count }, (_, index) => ({
        ...(some[index % some.length] ?? monitorOf()),
        id: `m-${index}`,
      }));
      return toldOf({
        ...told,
        monitors: told.event === 'test' ? [] : monitors,
        others_down: { names: others, count: others.length + more },
        links: acknowledge
          ? plain.links
          : { ...plain.links, acknowledge: null, acknowledge_short: null },
        thread: { key: 'a-41', reference, over },
      });
    });

export const hostileMessages = messagesOf(1, 2, 3, 17, 100, 1_000);

/** Programs are told each event by itself, or the warnings of one monitor. */
const hostileEvents = messagesOf(1, 2, 3);
export const hostileMessagesTo = (kind: string): fc.Arbitrary<Notification> =>
  kindOf(kind)?.gathers === false ? hostileEvents : hostileMessages;
