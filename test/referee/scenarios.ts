/**
 * What a monitor meets in its life: what becomes of a target, for how long, and whether somebody is
 * to be told. The words are those of the trade.
 */

const faults = [
  'unavailable',
  'refuses',
  'is-silent',
  'drips-headers',
  'breaks-off',
  'shows-another-name',
  'shows-expired',
  'redirects-for-ever',
  'has-no-name',
  'has-a-wrong-name',
  'refuses-head',
  'is-cut-off-from-one-place',
  'is-lossy-from-one-place',
  'fails-three-of-ten',
] as const;
export type Fault = (typeof faults)[number];

export type Scenario = {
  readonly name: string;
  readonly about: string;
  readonly by: 'http' | 'https' | 'dns';
  readonly fault: Fault;
  readonly lastsMs: number;
  /** `either`: so short that somebody may want to hear of it, and another may not. */
  readonly wants: 'alert' | 'silence' | 'either';
  /** How many targets fail together. */
  readonly targets: number;
};

/** As long as who believes the third failure in a row needs, each after a time limit of 5 s. */
const longMs = 60_000;

const target = (
  name: string,
  fault: Fault,
  about: string,
  by: Scenario['by'] = 'http',
  more: Partial<Scenario> = {},
): Scenario => ({ name, about, by, fault, lastsMs: longMs, wants: 'alert', targets: 1, ...more });

export const scenarios: readonly Scenario[] = [
  target('status-503', 'unavailable', 'answers 503'),
  target('refused', 'refuses', 'nobody listens'),
  target('silent', 'is-silent', 'takes the request and never answers'),
  target('slow-headers', 'drips-headers', 'sends a byte of its headers every half second'),
  target('truncated-body', 'breaks-off', 'says 200 and 2,000 bytes, and hangs up after 13'),
  target('wrong-certificate', 'shows-another-name', "shows another host's certificate", 'https'),
  target('expired-certificate', 'shows-expired', 'shows one that expired yesterday', 'https'),
  target('redirect-loop', 'redirects-for-ever', 'redirects to itself'),
  target('dns-nxdomain', 'has-no-name', 'the name server says that there is no such name', 'dns'),
  target('dns-wrong-answer', 'has-a-wrong-name', 'the name server gives another address', 'dns'),
  target(
    'brownout',
    'fails-three-of-ten',
    '3 of 10 requests, at random, are answered 503',
    'http',
    {
      lastsMs: 120_000,
    },
  ),
  target('all-gone', 'refuses', 'five targets refuse at once', 'http', { targets: 5 }),
  target('head-405', 'refuses-head', 'answers 405 to HEAD and 200 to GET', 'http', {
    wants: 'silence',
  }),
  target(
    'one-place-blocked',
    'is-cut-off-from-one-place',
    'silent for one place of three',
    'http',
    {
      wants: 'silence',
    },
  ),
  target(
    'one-place-lossy',
    'is-lossy-from-one-place',
    'silent for 3 of 10 connections of one place',
    'http',
    { wants: 'silence' },
  ),
  target('blip', 'unavailable', 'answers 503 for 2 s', 'http', { lastsMs: 2_000, wants: 'either' }),
  target('deploy', 'refuses', 'refuses for 4 s, as a short restart does', 'http', {
    lastsMs: 4_000,
    wants: 'either',
  }),
];
