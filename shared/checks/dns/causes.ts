import type { CauseRow } from '../result.ts';

/**
 * Every cause of a DNS check. Texts in params come from the monitor's own config or from lists of
 * ours.
 */
export const dnsCauses = {
  dns_silent: {
    layer: 'timeout',
    sentence: ({ limit_ms }) => `The resolver did not answer within ${seconds(limit_ms)}`,
  },
  dns_refused: { layer: 'dns', sentence: () => 'The resolver refused the question' },
  dns_name_missing: { layer: 'dns', sentence: () => 'The name does not exist' },
  dns_alias_dangling: {
    layer: 'dns',
    sentence: () => 'The name is an alias of a name that does not exist',
  },
  dns_server_failed: {
    layer: 'dns',
    sentence: ({ reason }) =>
      `The resolver could not find an answer (SERVFAIL${reason === undefined ? '' : `: ${reason}`})`,
  },
  dns_rcode: {
    layer: 'dns',
    sentence: ({ rcode, expected }) => `Answered ${rcode}, expected ${expected}`,
  },
  dns_malformed: { layer: 'dns', sentence: () => "The resolver's answer is malformed" },
  dns_oversized: {
    layer: 'dns',
    sentence: () => "The resolver's answer is larger than an answer may be",
  },
  dns_wrong_question: {
    layer: 'dns',
    sentence: () => 'The resolver only answered questions that were not asked',
  },
  dns_truncated: {
    layer: 'dns',
    sentence: () => 'The answer was cut off, and the resolver does not answer over TCP',
  },
  dns_port_closed: { layer: 'tcp', sentence: () => "Nothing listens at the resolver's port" },
  dns_tcp_refused: { layer: 'tcp', sentence: () => 'The resolver refused the TCP connection' },
  dns_tcp_failed: { layer: 'tcp', sentence: () => 'The TCP connection to the resolver failed' },
  dns_unreachable: { layer: 'tcp', sentence: () => 'The resolver cannot be reached' },

  dns_unexpected_rcode: {
    layer: 'assertion',
    sentence: ({ rcode, expected }) => `Answered ${rcode}, expected ${expected}`,
  },
  dns_no_records: { layer: 'assertion', sentence: ({ type }) => `The name has no ${type} records` },
  dns_records: {
    layer: 'assertion',
    sentence: ({ type }) => `The name has ${type} records, expected none`,
  },
  dns_none_expected: {
    layer: 'assertion',
    sentence: ({ type }) => `None of the expected values is among the ${type} records`,
  },
  dns_value_missing: {
    layer: 'assertion',
    sentence: ({ type, value }) => `No ${type} record is ${value}`,
  },
  dns_value_unexpected: {
    layer: 'assertion',
    sentence: ({ type }) => `The ${type} records hold a value that is not expected`,
  },
  dns_ttl_low: {
    layer: 'assertion',
    sentence: ({ ttl, min_ttl }) => `TTL ${ttl} s, at least ${min_ttl} s expected`,
  },
  dns_not_authenticated: {
    layer: 'assertion',
    sentence: () => 'The answer is not authenticated (no AD flag)',
  },

  probe_not_sent: { layer: 'probe', sentence: () => "The probe's host did not send the question" },
  probe_resolver: { layer: 'probe', sentence: () => "The probe's own resolver does not work" },
} satisfies Record<string, CauseRow>;

function seconds(ms: string | number | undefined): string {
  return `${Math.round(Number(ms ?? 0) / 100) / 10} s`;
}

export type DnsCause = keyof typeof dnsCauses;
