import type { CauseRow } from '../result.ts';

/** What a check by echo requests adds to the causes of finding an address. */
export const icmpCauses = {
  icmp_silent: {
    layer: 'timeout',
    sentence: ({ sent }) =>
      sent === 1
        ? 'The echo request was not answered'
        : `None of ${sent} echo requests was answered`,
  },
  icmp_loss: {
    layer: 'assertion',
    sentence: ({ lost, sent, most }) =>
      `${lost} of ${sent} echo requests were not answered (at most ${most}% may be lost)`,
  },
  icmp_unavailable: {
    layer: 'probe',
    sentence: () => 'The probe could not send echo requests',
  },
} satisfies Record<string, CauseRow>;

export type IcmpCause = keyof typeof icmpCauses;
