import { hostAndPort } from '../../../shared/checks/connection/config.ts';
import { tlsSettings } from '../../../shared/checks/tls/config.ts';
import { type Open, openSocket } from '../connection/connect.ts';
import { reachWithHandshake } from '../connection/handshake.ts';
import { createNotes } from '../connection/notes.ts';
import type { ConnectionDependencies } from '../connection/reach.ts';
import type { Check } from '../types.ts';
import { judgeTls, type TlsObservation } from './verdict.ts';

/** Performs the check: a connection and its handshake, then the pure verdict. */
export function createTlsCheck(dependencies: ConnectionDependencies): Check {
  const note = createNotes(dependencies);
  const { trust } = dependencies;
  return async (context) => {
    const { assignment, started_at, deadline, evidence_wanted } = context;
    const target = hostAndPort('tls', assignment.target);
    if (!target) throw new Error('The target of a tls check is not a host and a port');
    const settings = tlsSettings(assignment.config);
    const began = performance.now();
    deadline.listenInSteps();
    const host = settings.server_name ?? target.host.replace(/\.$/, '');
    // What the strict context refuses outright is judged here: it offers TLS 1.2 and newer.
    const verify = settings.verify_tls && settings.min_version >= '1.2';
    const opening =
      (isHybrid: boolean): Open =>
      (address, port, through) =>
        openSocket(address, port, { host, verify, isHybrid }, trust, through);
    const endpoint = { ...target, ip_family: settings.ip_family };
    const certified = { host, verify: settings.verify_tls, trust };
    const { reached, socket, tls, tls_ms, failure } = await reachWithHandshake(
      endpoint,
      opening,
      certified,
      context,
      dependencies,
    );
    // Not at once: our last words of the handshake are still to leave.
    setImmediate(() => socket?.destroy());
    const observation: TlsObservation = {
      at: started_at,
      limit_ms: assignment.timeout_ms,
      reached: reached.seen,
      tls,
      phases: {
        ...reached.phases,
        tls: tls_ms,
        first_byte: null,
        total: performance.now() - began,
      },
      failure,
    };
    const verdict = judgeTls(settings, observation, evidence_wanted);
    return note(verdict, context, endpoint, reached.seen, [tls]);
  };
}
