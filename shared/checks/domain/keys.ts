import { type ConfigKeys, everyKindKeys } from '../config-key.ts';

export const domainKeys = {
  ...everyKindKeys,
  expires_within_days: {
    meaning:
      'From how many days before the end of the registration on the check warns; 0 for never.',
    allowed: 'a whole number of days from 0 to 365',
    otherwise: '30 days before',
    example: 60,
  },
} as const satisfies ConfigKeys;
