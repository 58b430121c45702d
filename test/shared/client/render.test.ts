import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { operations } from '../../../shared/api/index.ts';
import { render, type Terminal } from '../../../shared/client/output.ts';
import {
  cut,
  duration,
  padded,
  painter,
  printable,
  relative,
  widthOf,
} from '../../../shared/client/terminal.ts';

const now = Date.parse('2027-01-01T12:00:00.000Z');
const terminal: Terminal = {
  columns: 100,
  paint: painter(false),
  now,
  listed: operations.listMonitors.columns,
};
const listedOf = {
  events: operations.listEvents.columns,
  channels: operations.listChannels.columns,
  invitations: operations.listProbeInvitations.columns,
};
const incidents: Terminal = { ...terminal, listed: operations.listIncidents.columns };

const monitor = {
  id: '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f',
  name: 'Shop',
  type: 'https',
  target: 'https://shop.example/',
  interval_s: 60,
  enabled: true,
  config: {},
  group: null,
  affects_group_status: true,
  created_at: '2027-01-01T11:57:00.000Z',
};

test('a list is a table with one line for each row', () => {
  const text = render(
    {
      items: [monitor, { ...monitor, name: 'Very long '.repeat(20), enabled: false }],
      next_cursor: null,
    },
    terminal,
  );
  const lines = text.trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[1]).toContain('Shop');
  expect(lines.every((line) => widthOf(line) <= 100)).toBe(true);
  expect(lines[2]).toContain(monitor.id.slice(-8));
  expect(lines[2]).toContain('…');
  expect(render({ items: [monitor], next_cursor: null }, { ...terminal, columns: 200 })).toContain(
    monitor.id,
  );
});

test('ids with equal ends are shown as long as needed to tell them apart', () => {
  const other = { ...monitor, id: '0190a7c4-5b1e-7c3d-9f42-6aff1c2d3e4f' };
  const [, one = '', two = ''] = render(
    { items: [monitor, other], next_cursor: null },
    { ...terminal, columns: 80 },
  ).split('\n');
  expect(one).toMatch(/ 8b1c2d3e4f$/);
  expect(two).toMatch(/ ff1c2d3e4f$/);
});

const names = [
  'Shop',
  '日本の店',
  '👨‍👩‍👧‍👦 Family site',
  '🏴󠁧󠁢󠁥󠁮󠁧󠁿 England ❤️',
  'می‌خواهم فروشگاه',
  'חנות ראשית',
  'Cafe\u0301',
  'A name that is longer than any column of a table should be',
];

test.each([60, 80, 200])(
  'at %i columns every row keeps its columns, whatever characters a name has',
  (columns) => {
    const items = names.map((name, index) => ({
      ...monitor,
      status: 'up',
      name,
      id: monitor.id.replace(/4f$/, `${index}0`),
    }));
    const [head = '', ...rows] =
      render({ items, next_cursor: null }, { ...terminal, columns })
        .split('\n\n')[0]
        ?.trimEnd()
        .split('\n') ?? [];
    const place = widthOf(head.slice(0, head.indexOf(' id') + 1));
    for (const [index, row] of rows.entries()) {
      expect(widthOf(row)).toBeLessThanOrEqual(columns);
      const before = row.slice(0, row.lastIndexOf(' ') + 1);
      expect(widthOf(before)).toBe(place);
      expect(row).toContain((names[index] ?? '').slice(0, 20));
    }
  },
);

const lists = {
  events: {
    id: monitor.id,
    at: '2027-01-01T11:57:00.000Z',
    event: 'incident.acknowledged',
    monitor: monitor.id,
    incident: monitor.id,
    group: null,
    window: null,
    name: 'Shop',
  },
  channels: {
    id: monitor.id,
    kind: 'webhook',
    name: 'Shop',
    config: { url: '***' },
    enabled: true,
    verified: true,
    unsubscribed: false,
    covers: 'all',
    monitors: [],
    groups: [],
    delay_s: 0,
    reminder_s: null,
    hours: null,
    owner: null,
    delivering: false,
    failure: 'The receiver answered 410.',
    last_delivered_at: null,
    p95_ms: null,
    created_at: monitor.created_at,
  },
  invitations: {
    id: monitor.id,
    name: 'Shop',
    continent: 'North America',
    shown: 'svcj_abcd',
    state: 'open',
    probe: null,
    last_seen_at: null,
    created_at: monitor.created_at,
    expires_at: '2027-01-01T12:57:00.000Z',
  },
};

test.each<[keyof typeof lists, number, string, RegExp]>([
  [
    'events',
    60,
    'at event name monitor id',
    /^3 min ago +incident.acknowledged +Shop( +1c2d3e4f){2}$/,
  ],
  [
    'events',
    80,
    'at event name monitor incident id',
    /^3 min ago +incident.acknowledged +Shop( +1c2d3e4f){3}$/,
  ],
  [
    'events',
    200,
    'at event name monitor incident id',
    /^3 min ago +incident.acknowledged +Shop( +0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f){3}$/,
  ],
  [
    'channels',
    60,
    'kind name enabled verified delivering id',
    /^webhook +Shop +yes +yes +no +1c2d3e4f$/,
  ],
  [
    'channels',
    80,
    'kind name enabled verified delivering failure id',
    /^webhook +Shop +yes +yes +no +The rec.* +1c2d3e4f$/,
  ],
  [
    'channels',
    200,
    'kind name enabled verified delivering covers failure owner id',
    /no +all +The receiver answered 410. +– +0190a7c4/,
  ],
  [
    'invitations',
    60,
    'state name continent expires last seen id',
    /^open +Shop +North America +in 57 min +– +1c2d3e4f$/,
  ],
  [
    'invitations',
    80,
    'state name continent expires last seen shown id',
    /^open +Shop +North America +in 57 min +– +svcj_abcd +1c2d3e4f$/,
  ],
  [
    'invitations',
    200,
    'state name continent expires last seen shown id',
    /– +svcj_abcd +0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f$/,
  ],
])('a list of %s on %i columns says what it is about: %s', (list, columns, titles, said) => {
  const [head = '', row = ''] = render(
    { items: [lists[list]], next_cursor: null },
    { ...terminal, columns, listed: listedOf[list] },
  ).split('\n');
  expect(head.trim().split(/ +/).join(' ')).toBe(titles);
  expect(row).toMatch(said);
  expect(Math.max(widthOf(head), widthOf(row))).toBeLessThanOrEqual(columns);
});

test('joiners stay within emoji and words, and steer nothing elsewhere', () => {
  for (const text of names) expect(printable(text)).toBe(text);
  expect(printable('\u200dx \u200d-')).toBe('\ufffdx \ufffd-');
  expect(printable('a\u2066b\u2069')).toBe('a\ufffdb\ufffd');
  expect(padded('שלום', 6)).toBe('שלום\u200e  ');
});

test('only what was asked for is shown, in that order, also from within', () => {
  const fields = [['target'], ['config', 'method'], ['name']];
  const items = [{ ...monitor, config: { method: 'HEAD' } }];
  expect(render({ items, next_cursor: null }, { ...terminal, fields }).split('\n')[1]).toMatch(
    /^https:\S+ +HEAD +Shop$/,
  );
  expect(render(items[0], { ...terminal, fields })).not.toContain('interval');
});

test('on a terminal of 80 columns a list keeps the most important columns, and says what it left out', () => {
  const incident = {
    id: monitor.id,
    open: true,
    confirmed_at: '2027-01-01T11:59:31.000Z',
    monitor_name: 'Shop front',
    cause: 'Connection refused',
    started_at: '2027-01-01T11:59:30.000Z',
    resolved_at: null,
    seen_from: { name: 'Frankfurt', continent: 'Europe' },
    confirmed_from: { name: 'Virginia', continent: 'North America' },
  };
  const text = render({ items: [incident], next_cursor: null }, { ...incidents, columns: 80 });
  const [, row = ''] = text.split('\n');
  expect(widthOf(row)).toBeLessThanOrEqual(80);
  expect(row).toMatch(/^open {3}Shop front/);
  expect(row).toContain('30 s ago');
  expect(row).toContain('Connection refu');
  expect(row).toMatch(/Frankfurt +Virginia +1c2d3e4f$/);
  expect(text).toContain('No room for resolved:');
  expect(
    render({ items: [incident], next_cursor: null }, { ...incidents, columns: 200 }),
  ).toContain('Virginia (North America)');
  const taken = { ...incident, acknowledged_at: incident.started_at, acknowledged_by: 'Ada' };
  expect(render({ items: [taken], next_cursor: null }, { ...incidents, columns: 200 })).toMatch(
    /acknowledged by.* id\n.* Ada /,
  );
});

test('the README shows the first outage as a terminal of 80 columns shows it', () => {
  const incident = {
    id: '0190a7c4-5b1e-7c3d-9f42-6a8b9be8c5d5',
    open: true,
    confirmed_at: '2027-01-01T11:59:51.000Z',
    monitor_name: 'Demo',
    cause: 'Connection refused',
    started_at: '2027-01-01T11:59:48.000Z',
    resolved_at: null,
    acknowledged_at: null,
    acknowledged_by: null,
    seen_from: { name: 'Singapore', continent: 'Asia' },
    confirmed_from: { name: 'Virginia', continent: 'North America' },
  };
  const text = render({ items: [incident], next_cursor: null }, { ...incidents, columns: 80 });
  expect(readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')).toContain(
    `\`\`\`\n${text}\`\`\`\n`,
  );
});

test('an empty list says so, and a page that is not the last says how to go on', () => {
  expect(render({ items: [], next_cursor: null }, terminal)).toBe('None.\n');
  expect(render({ items: [monitor], next_cursor: 'abc' }, terminal)).toContain('--cursor abc');
  const changes = { items: [lists.events], after: 'abc' };
  expect(render({ ...changes, more: true }, terminal)).toContain(
    '\nThere are more: add --all, or --after abc\n',
  );
  expect(render({ ...changes, more: false }, terminal)).not.toContain('There are more');
});

test('a single resource is a card with relative times', () => {
  const text = render(monitor, terminal);
  expect(text).toMatch(/created\s+2027-01-01T11:57:00.000Z \(3 min ago\)/);
  expect(text).toMatch(/interval\s+60 s/);
});

test('a list within a card is a table with times by the clock, and what has no room is named', () => {
  const phases = { dns: 1, tcp: 2 };
  const samples = [
    {
      at: '2027-01-01T11:57:00.250Z',
      continent: 'Europe',
      probe: 'שרת',
      took_ms: 12.5,
      cause_class: null,
      phases,
    },
    {
      at: '2027-01-01T11:58:00.000Z',
      continent: 'North America',
      probe: '👨‍👩‍👧‍👦',
      took_ms: 4,
      cause_class: 'dns',
      phases,
    },
  ];
  const card = {
    id: monitor.id,
    started_at: '2027-01-01T11:57:00.000Z',
    duration_s: 65.008,
    percent: 99.5,
    samples,
    groups: [{ name: 'Shops', members: [{ name: 'Shop' }] }],
  };
  const lines = render(card, terminal).trimEnd().split('\n');
  expect(lines.slice(2, 9)).toEqual([
    'duration  1 min 5 s',
    'percent   99.5%',
    'samples',
    '  at             continent      probe  took ms  cause class',
    '  11:57:00.250Z  Europe         שרת\u200e    12.5     –',
    '  11:58:00.000Z  North America  👨‍👩‍👧‍👦     4        dns',
    '  Not here: phases; --json shows all.',
  ]);
  expect(lines.slice(9)).toEqual([
    'groups',
    '  -',
    '    name     Shops',
    '    members',
    '      name',
    '      Shop',
  ]);
  const narrow = render(card, { ...terminal, columns: 44 });
  expect(narrow).toMatch(
    / +at +continent +probe\n(.*\n){2} +Not here: took ms, cause class, phases;\n +--json shows all.\n/,
  );
  // A day that does not stand in the card is told.
  const days = [{ from: '2027-01-01T11:57:00.000Z' }, { from: null }];
  expect(render({ stretches: days }, terminal)).toBe(
    'stretches\n  from\n  2027-01-01T11:57Z\n  –\n',
  );
});

test('a value that is too long for a line of a card continues below, between words; one long word stays whole', () => {
  const text = render(
    {
      name: 'Shop',
      note: 'one two three four five six seven',
      target: 'https://a.example/very/long',
    },
    { ...terminal, columns: 30 },
  );
  expect(text).toBe(
    'name    Shop\nnote    one two three four\n        five six seven\ntarget  https://a.example/very/long\n',
  );
});

test('a status is a word, in the colour of its meaning', () => {
  const status = {
    monitor: monitor.id,
    status: 'down',
    since: null,
    uptime: { days: 30, percent: 99.9, down_seconds: 60 },
  };
  expect(render(status, terminal)).toMatch(/status\s+down/);
  expect(render(status, { ...terminal, paint: painter(true) })).toContain(
    '\u001b[31mdown\u001b[0m',
  );
});

test('an incident has its state as a word', () => {
  const incident = {
    id: monitor.id,
    open: true,
    confirmed_at: null,
    monitor_name: 'Shop',
    started_at: '2027-01-01T11:59:30.000Z',
  };
  expect(render({ items: [incident], next_cursor: null }, incidents)).toContain('verifying');
  expect(render({ items: [{ ...incident, open: false }], next_cursor: null }, incidents)).toContain(
    'resolved',
  );
});

test('fields and values of a newer service are shown and do no harm', () => {
  const text = render(
    { ...monitor, colour: 'mauve', nested: { a: [{ b: 1 }, 2] }, status: 'hibernating' },
    terminal,
  );
  expect(text).toContain('mauve');
  expect(text).toContain('hibernating');
});

test('foreign text cannot control the terminal', () => {
  const evil = 'x\u001b]0;owned\u0007\u001b[2J\u202ey\nz';
  const text =
    render({ items: [{ ...monitor, name: evil }], next_cursor: null }, terminal) +
    render({ ...monitor, name: evil }, terminal);
  for (const sign of ['\u001b', '\u0007', '\u202e']) expect(text).not.toContain(sign);
  expect(printable('a\nb')).toBe('a b');
});

test.each([
  [0, 'now'],
  [5000, '5 s ago'],
  [185_000, '3 min 5 s ago'],
  [26 * 3_600_000, '1 d 2 h ago'],
  [-7_200_000, 'in 2 h'],
])('%i ms before now is "%s"', (before, expected) => {
  expect(relative(now - before, now)).toBe(expected);
});

test('widths count what a reader sees', () => {
  expect(widthOf('日本')).toBe(4);
  expect(cut('日本語の名前', 5)).toBe('日本…');
  expect(duration(999)).toBe('0 s');
});

test('a budget that is overspent says by how much', () => {
  expect([duration(-4_140_000), duration(-999)]).toEqual(['-1 h 9 min', '0 s']);
});
