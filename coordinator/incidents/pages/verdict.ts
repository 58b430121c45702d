import type { getIncidentEvidence } from '../../../shared/api/incidents.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import type { DescribedSides } from '../../../shared/base/sides.ts';
import { type PhaseTimes, verdictSentence } from '../../../shared/base/text.ts';
import type { Witness } from '../../../shared/checks/result.ts';
import { linkButton } from '../../web/elements.ts';
import { type Html, html, icon, type Part } from '../../web/html.ts';
import { markdown } from '../../web/markdown.ts';
import { laterText, witnessLine, witnessMap } from '../../web/witnesses.ts';
import { witnessesOf } from './evidence.ts';

/** What an incident is judged by, as its page and its link show it. */
type Judged = {
  readonly layer: string | null;
  readonly cause: string | null;
  readonly sides: DescribedSides | null;
  readonly open: boolean;
  readonly confirmed: boolean;
  /** Of the check that failed first. */
  readonly phases: PhaseTimes | null;
  /** How many its checks connected to. */
  readonly addresses: number;
  /** The first of them that failed, what confirmed it, and all others. */
  readonly witnesses: readonly Witness[];
};

export function outageOf(incident: OutputOf<typeof getIncidentEvidence>): Judged {
  return {
    ...incident,
    confirmed: incident.confirmed_at !== null,
    phases: incident.checks.find(({ part }) => part === 'seen')?.phases ?? null,
    addresses: addressesOf(incident.checks),
    witnesses: witnessesOf(incident.checks, incident.started_at),
  };
}

export function addressesOf(checks: OutputOf<typeof getIncidentEvidence>['checks']): number {
  return new Set(checks.flatMap(({ evidence }) => evidence?.address ?? [])).size;
}

/** A job has no target to check: only its pings tell its state. */
export function isOfJob({ layer }: { readonly layer: string | null }): boolean {
  return layer === 'heartbeat';
}

/**
 * An outage at a glance: what it is, why, who saw it, from where and when. `above`: what stands
 * before the title; `why`: in place of the layer; `more`: what follows; `runs`: of a job, which no
 * continent sees.
 */
export function outage(
  judged: Judged,
  {
    above,
    title,
    why,
    more,
    runs,
  }: { above?: Part; title: Html; why?: Part; more?: Part; runs?: Part },
): Html {
  const { cause, open, confirmed } = judged;
  const witnesses = isOfJob(judged) ? [] : judged.witnesses;
  const state = open ? (confirmed ? 'down' : 'verifying') : 'unknown';
  const layer = isOfJob(judged) ? undefined : hintOf(judged);
  const reason = cause ?? layer ?? 'Cause unknown';
  const symbol = icon(open ? state : 'check');
  return html`
    <section class="card outage state-${state}" id="banner">
      <div class="outage-words">
        ${above}
        <div class="outage-title">${symbol}${title}</div>
        <p class="outage-cause">${reason}</p>
        ${(why || (layer !== reason && layer)) && html`<p class="soft">${why || layer}</p>`}
      </div>
      ${
        witnesses.length > 0 &&
        html`
          <figure class="outage-seen">
            ${witnessMap(witnesses)}
            <figcaption>${seenText(judged)}</figcaption>
          </figure>
        `
      }
      ${runs && html`<figure class="outage-seen">${runs}</figure>`}
      ${more && html`<div class="outage-more">${more}</div>`}
    </section>
  `;
}

/**
 * Where to look; the title and the witnesses say from where it is down. DNS is fine where it gave
 * every place the same address.
 */
function hintOf(judged: Judged): string | undefined {
  const { sides, phases, addresses, open, confirmed } = judged;
  if (open && confirmed && sides?.verdict === 'way_in')
    return addresses === 1 ? 'Check edge or firewall.' : 'Check edge, firewall or DNS.';
  return verdictSentence(
    { ...judged, scope: null },
    addresses > 1 ? { ...phases, dns: null } : phases,
  );
}

/** A long one scrolls, so that the buttons below it stay in sight. */
export function runbook({ runbook: text }: { readonly runbook: string | null }): Part {
  return (
    text !== null &&
    html`
      <div class="runbook" role="region" aria-label="Runbook" tabindex="0">
        <h2>Runbook</h2>
        ${markdown(text)}
      </div>
    `
  );
}

/** In two lines, on the page of what is down, with what to do: its own page has the rest. */
export function outageRow(
  incident: OutputOf<typeof getIncidentEvidence>,
  monitor: Parameters<typeof runbook>[0],
): Html {
  const judged = outageOf(incident);
  const { cause, confirmed, sides, witnesses } = judged;
  const state = confirmed ? 'down' : 'verifying';
  return html`
    <section class="card row outage-row state-${state}" id="banner">
      <div>
        <h2>${icon(state)}${cause ?? 'Cause unknown'}</h2>
        ${sides?.sentence && html`<p class="soft">${sides.sentence}</p>`}
        ${!isOfJob(judged) && witnessLine(witnesses)}
      </div>
      ${linkButton(`/incidents/${incident.id}`, 'View incident', { main: true })}
      ${runbook(monitor)}
    </section>
  `;
}

/** `Seen from Europe, confirmed from Asia 311 ms later.` */
function seenText({ witnesses, open, confirmed }: Judged): string {
  const [first, second] = witnesses.filter(({ outcome }) => outcome === 'fail');
  const seen = `Seen from ${first?.place ?? 'nowhere now'}`;
  if (!confirmed) return `${seen}, ${open ? 'not confirmed yet' : 'never confirmed'}.`;
  return second === undefined || second.after_ms === null
    ? `${seen}.`
    : `${seen}, confirmed from ${second.place} ${laterText(second.after_ms)} later.`;
}
