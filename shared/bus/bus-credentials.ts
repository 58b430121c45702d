import { z } from 'zod';
import { continents } from '../base/continents.ts';

/**
 * All that a probe needs to become one, as one word that can be copied into a terminal: base64url of JSON. The coordinator's operator
 * prints it once, the probe reads it from PROBE_CREDENTIALS. The seed in it is the probe's whole identity: on the bus, and under its results.
 */
const probeCredentials = z.object({
  v: z.literal(1),
  probe: z.uuid(),
  name: z.string().min(1).max(200),
  continent: z.enum(continents),
  /** The organisation of a private probe; null for a public one. */
  organisation: z.uuid().nullable(),
  nats_url: z.string().regex(/^(nats|tls):\/\//),
  /** The text of a NATS credentials file. */
  nats_credentials: z.string().includes('NATS USER JWT'),
  /** What verifies announcements of the coordinators, and whether what is not signed is refused from the start. */
  signing_keys: z.array(z.string()).max(2).default([]),
  require_signed: z.boolean().default(false),
});

export type ProbeCredentials = Readonly<z.infer<typeof probeCredentials>>;

export const printProbeCredentials = (credentials: Omit<z.input<typeof probeCredentials>, 'v'>): string =>
  Buffer.from(JSON.stringify({ v: 1, ...credentials })).toString('base64url');

/** @throws when the text is none; the message does not repeat it. */
export const parseProbeCredentials = (text: string): ProbeCredentials => {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text.trim(), 'base64url').toString());
  } catch {
    throw new Error('are not what "probe create" printed: it is one word of base64url, to be copied whole');
  }
  const parsed = probeCredentials.safeParse(value);
  if (!parsed.success)
    throw new Error(`do not fit: ${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`);
  return Object.freeze(parsed.data);
};
