import { continents } from '../base/continents.ts';
import type { Json } from './result.ts';

/**
 * The description of one config key, used everywhere: in the refusal of a bad value, the document,
 * its page, the command line and its completion. Plain words and values, so programs on users'
 * machines can ship it; a test compares it with the schemas.
 */
export type ConfigKey = {
  readonly meaning: string;
  /** The words after "give": the shape and the limits. */
  readonly allowed: string;
  /** What the check uses when the key is omitted; absent where there is no such value. */
  readonly initial?: Json;
  /** The behaviour when the key is omitted, in words. */
  readonly otherwise?: string;
  readonly example: Json;
  /** All values, where they are a fixed list. */
  readonly choices?: readonly string[];
};

export type ConfigKeys = { readonly [key: string]: ConfigKey };

export const yesOrNo = { allowed: 'true or false', choices: ['true', 'false'] } as const;

export const everyKindKeys = {
  timeout_ms: {
    meaning: 'How long a check may take, in milliseconds; after that it has failed.',
    allowed: 'a whole number of milliseconds from 1,000 to 60,000, below the interval',
    otherwise: 'the smaller of 10,000 and half the interval',
    example: 5_000,
  },
  continents: {
    meaning: 'The continents that check and confirm.',
    allowed: `a list with at least one of ${continents.join(', ')}, none twice`,
    otherwise: 'all that have probes',
    example: ['Europe', 'Asia'],
  },
  probe: {
    meaning: 'The private place whose probes check, and nobody else; it wins over `continents`.',
    allowed: 'the id (a UUID) of a private place of your organisation, or of a probe in it',
    otherwise: 'the public probes check',
    example: '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f',
  },
  places: {
    meaning:
      'The places that check and confirm, public and private mixed freely, instead of `continents` and `probe`. `GET /api/v1/places` lists them.',
    allowed:
      'a list of 1 to 20 places, each as `continent:Europe` or by its name or id, of up to 400 characters',
    otherwise: 'as `continents` and `probe` say',
    example: ['continent:Europe', 'Office Berlin'],
  },
  inside_counts: {
    meaning:
      'Whether an outage that only private places see counts for uptime too, where `places` has both sides.',
    ...yesOrNo,
    initial: false,
    example: true,
  },
  alert_after_s: {
    meaning:
      'How long an outage must last after it is confirmed before anybody is alerted, in seconds.',
    allowed: 'a whole number of seconds from 0 to 3,600',
    initial: 0,
    example: 120,
  },
} as const satisfies ConfigKeys;
