import type { ShareKind } from '../core/causes.ts';

export type CauseRow = {
  readonly key: number;
  readonly id: string;
  readonly kind: ShareKind;
  readonly value: string;
  /** Of a private place. */
  readonly place_name: string | null;
  readonly began_at: number;
  readonly found_at: number;
  readonly ended_at: number | null;
  readonly passing: number;
  readonly others_failing: number;
  readonly others: number;
  readonly incidents: number;
  readonly open_incidents: number;
};

/** What each kind is called, and how its monitors are. */
const words: { readonly [Kind in ShareKind]: readonly [name: string, monitors: string] } = {
  certificate: ['Certificate', 'with certificate'],
  address: ['Address', 'at address'],
  redirect: ['Redirect to', 'that are redirected to'],
  block_page: ['Block page of', 'that are answered by a block page of'],
  server: ['Server', 'behind server'],
  issuer: ['Certificate authority', 'with a certificate of'],
  zone: ['Domain', 'in domain'],
  name_server: ['Name server', 'that ask name server'],
  place: ['Private place', 'in private place'],
  network: ['Network', 'checked from network'],
};

export function causeName(row: Pick<CauseRow, 'kind' | 'value' | 'place_name'>): string {
  return `${words[row.kind][0]} ${valueText(row)}`;
}

/** Why it is the cause: who shares it and fails, who shares it and passes, and how others do. */
export function explanationOf(row: CauseRow): string {
  const { incidents, passing, ended_at } = row;
  const who = `${passing === 0 ? 'All' : `${incidents} of the`} ${incidents + passing} monitors`;
  const fail = ended_at === null ? 'fail' : 'failed';
  return `${who} ${sharedText(row)} ${fail}${othersText(row)}.`;
}

/** The same behind "30 monitors are down:". */
export function reasonOf(row: CauseRow): string {
  const { incidents, open_incidents: open, passing } = row;
  const all = incidents + passing;
  const who = open === all ? `all ${all}` : `${open} of the ${all}`;
  return `${who} ${sharedText(row)}${othersText(row)}`;
}

function sharedText(row: CauseRow): string {
  return `${words[row.kind][1]} ${valueText(row)}`;
}

function othersText({ others_failing, others }: CauseRow): string {
  if (others === 0) return '';
  return `, and ${others_failing === 0 ? 'none' : others_failing} of the ${others} others`;
}

const shownFingerprint = 23;

function valueText({
  kind,
  value,
  place_name,
}: Pick<CauseRow, 'kind' | 'value' | 'place_name'>): string {
  if (kind === 'place') return place_name ?? value;
  if (kind === 'server' || kind === 'issuer' || kind === 'block_page') return `“${value}”`;
  return kind === 'certificate' ? `${value.slice(0, shownFingerprint)}…` : value;
}
