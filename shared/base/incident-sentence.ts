import { durationText } from './duration.ts';

/** What people are told of an incident, in the words that pages, messages and assistants share. Everything here is text of our own but the name. */

export type IncidentWords = {
  readonly name: string;
  readonly open: boolean;
  readonly confirmed: boolean;
  /** `everywhere`, `some_continents` or `one_continent`; null when nothing is known of it. */
  readonly scope: string | null;
  readonly duration_ms: number;
};

const downWhere = (scope: string | null): string => {
  if (scope === 'everywhere') return 'down everywhere';
  return scope === 'some_continents' ? 'down from some continents' : 'down';
};

/** One sentence that answers what the matter is. */
export const incidentSentence = ({ name, open, confirmed, scope, duration_ms }: IncidentWords): string => {
  if (open) return confirmed ? `${name} is ${downWhere(scope)}.` : `${name} is being verified.`;
  if (confirmed) return `${name} was down for ${durationText(duration_ms)}.`;
  return `${name} failed from one place and was never down.`;
};

const scopeWords: Readonly<Record<string, string>> = {
  everywhere: 'Everywhere',
  some_continents: 'From some continents',
  one_continent: 'From one continent only',
};

const layerWords: Readonly<Record<string, string>> = {
  dns: 'in the name: DNS does not lead to an address',
  tcp: 'in the network: the name leads somewhere, and no connection stands there',
  tls: 'in TLS: name and network are well, certificate or handshake is not',
  http: 'in the answer itself: the network, DNS and TLS are well',
  assertion: 'in what the answer says: it came, and is not what you asked for',
  timeout: 'in time: no whole answer came within the limit',
  heartbeat: 'in the job: its ping did not come, or said that it failed',
};

/** Where it is seen and how deep it lies, as one sentence; undefined when nothing is known of either. */
export const verdictSentence = (scope: string | null, layer: string | null): string | undefined => {
  const where = scope === null ? undefined : scopeWords[scope];
  const how = layer === null ? undefined : layerWords[layer];
  if (where === undefined && how === undefined) return undefined;
  if (how === undefined) return `${where}.`;
  return where === undefined ? `${how.charAt(0).toUpperCase()}${how.slice(1)}.` : `${where}, ${how}.`;
};
