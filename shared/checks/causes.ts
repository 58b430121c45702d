import { connectionCauses } from './connection/causes.ts';
import { dnsCauses } from './dns/causes.ts';
import { domainCauses } from './domain/causes.ts';
import { grpcCauses } from './grpc/causes.ts';
import { heartbeatCauses } from './heartbeat/causes.ts';
import { httpsCauses } from './https/causes.ts';
import { icmpCauses } from './icmp/causes.ts';
import type { Cause, CauseRow, Layer } from './result.ts';
import { tcpCauses } from './tcp/causes.ts';
import { websocketCauses } from './websocket/causes.ts';

/** Faults of the probe itself, for any kind: they make a result `unknown`. */
const probeCauses = {
  probe_unvouched: { layer: 'probe', sentence: () => 'The probe could reach nothing else either' },
  probe_internal: { layer: 'probe', sentence: () => 'The probe failed in its own code' },
  probe_no_family: {
    layer: 'probe',
    sentence: ({ family, wanted }) =>
      wanted === 'both'
        ? `The probe has no IPv${family}, and both families are to be checked`
        : `The probe has no IPv${family} and the target has nothing else`,
  },
  probe_may_not_reach: {
    layer: 'probe',
    sentence: () => 'The host of this probe does not allow that address',
  },
  probe_no_socket: {
    layer: 'probe',
    sentence: ({ code }) => `The probe could not open a connection of its own (${code})`,
  },
  probe_proxy: {
    layer: 'probe',
    sentence: ({ code }) =>
      code === '407'
        ? 'The proxy for checks wants a user and a password, or others (407)'
        : `The proxy for checks ${/^\d/.test(String(code)) ? 'does not let this connection pass' : 'cannot be used'} (${code})`,
  },
  probe_held_up: { layer: 'probe', sentence: () => 'The probe itself was held up' },
  probe_clock_wrong: {
    layer: 'probe',
    sentence: () => "The probe's clock is too far off to judge certificates",
  },
  probe_stale_view: { layer: 'probe', sentence: () => "The probe's view of the bus was too old" },
  probe_quarantined: { layer: 'probe', sentence: () => 'The probe is quarantined' },
} satisfies Record<string, CauseRow>;

/**
 * The one sentence of a cause. For a class of a newer version, only its name. `by` is the address
 * family that fails where both must answer.
 */
export function causeSentence(cause: Cause): string {
  const sentence =
    causeRow(cause)?.sentence(cause.params) ?? `Failed (${cause.class.replaceAll('_', ' ')})`;
  return cause.params.by === undefined ? sentence : `${sentence} (${cause.params.by})`;
}

const rows: Readonly<Record<string, CauseRow>> = {
  ...probeCauses,
  ...connectionCauses,
  ...httpsCauses,
  ...dnsCauses,
  ...tcpCauses,
  ...websocketCauses,
  ...grpcCauses,
  ...heartbeatCauses,
  ...domainCauses,
  ...icmpCauses,
};

/**
 * The row of a cause; undefined for a class that this version does not know, as a newer probe may
 * send.
 */
function causeRow(cause: Cause): CauseRow | undefined {
  return Object.hasOwn(rows, cause.class) ? rows[cause.class] : undefined;
}

export function causeLayer(cause: Cause): Layer {
  return causeRow(cause)?.layer ?? 'assertion';
}
