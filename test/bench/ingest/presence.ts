import { newId } from '../../../shared/base/crypto.ts';
import { parseProbeCredentials, signatureOf } from '../../../shared/bus/identity.ts';
import type { PresenceMessage } from '../../../shared/bus/messages.ts';
import type { Bus } from '../../../shared/bus/nats.ts';
import { keyFromSeed, parseCredentials } from '../../../shared/bus/nkeys.ts';
import { subjects } from '../../../shared/bus/subjects.ts';
import { createSealPair } from '../../../shared/checks/sealed-secrets.ts';

const everyMs = 1_000;

/**
 * Says as a probe does that it is there: without it no coordinator takes the probe for well, and
 * decides about what it sees as about the last words of one that is gone. More often than a probe,
 * so that a coordinator that has just started hears it soon.
 */
export const keepPresent = (
  bus: Bus,
  { id, credentials }: { readonly id: string; readonly credentials: string },
  monitors: number,
): { readonly stop: () => void } => {
  const key = keyFromSeed(
    parseCredentials(parseProbeCredentials(credentials).nats_credentials).seed,
    'user',
  );
  const [generation, session, seal_key] = [newId(), newId(), createSealPair().open];
  const startedAt = performance.now();
  const speak = (): void => {
    const message: PresenceMessage = {
      v: 1,
      probe: id,
      generation,
      sent_at: Date.now(),
      version: 'bench',
      seal_key,
      allowed_cidrs: [],
      ear: null,
      spool: { waiting: 0, dropped: 0, bytes: 0 },
      // A digest of a form that no coordinator can compare, and whatever roster there is.
      assignments: { count: monitors, digest: 'bench', roster_epoch: Number.MAX_SAFE_INTEGER },
      session,
      up_ms: Math.floor(performance.now() - startedAt),
      load: { in_flight: 0, late_ms: 0 },
      self_test: { ok: true, detail: '' },
      handed_over: true,
    };
    const body = Buffer.from(JSON.stringify(message));
    bus.publish(subjects.presence(id), body, signatureOf(key, body));
  };
  speak();
  const timer = setInterval(speak, everyMs);
  return { stop: () => clearInterval(timer) };
};
