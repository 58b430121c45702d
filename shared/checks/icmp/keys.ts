import { type ConfigKeys, everyKindKeys } from '../config-key.ts';
import { connectionKeys } from '../connection/keys.ts';

export const icmpKeys = {
  ...everyKindKeys,
  packets: {
    meaning: 'How many echo requests a check sends, a fifth of a second apart.',
    allowed: 'a whole number from 1 to 20',
    initial: 3,
    example: 5,
  },
  max_loss_percent: {
    meaning: 'How many of them may stay without an answer, in percent; more is a failure.',
    allowed: 'a whole number from 0 to 99',
    initial: 50,
    example: 0,
  },
  ip_family: connectionKeys.ip_family,
  warn: connectionKeys.warn,
} as const satisfies ConfigKeys;
