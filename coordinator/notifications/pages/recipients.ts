import type { OutputOf } from '../../../shared/api/operation.ts';
import { notice, type State, stateMark } from '../../web/elements.ts';
import { type Html, html } from '../../web/html.ts';
import { mailMissingWords } from '../../web/layout.ts';
import type { listNotified } from '../contract.ts';
import { delayText } from './parts.ts';

export type Recipient = OutputOf<typeof listNotified>['items'][number];

const shutWords: Readonly<Record<string, string>> = {
  off: 'Off',
  unproven: 'Not confirmed yet',
  unsubscribed: 'Unsubscribed',
  mail_missing: mailMissingWords,
  failing: 'Cannot deliver',
};

/** Shown where an address is asked for that cannot receive mail. */
export const mailMissingNotice: Html = notice(
  'down',
  mailMissingWords,
  'No mail is sent until the operator of this installation sets SMTP_URL. Until then you can add only your own address.',
);

const maxNames = 8;

/**
 * The same in one line, for a monitor that is not saved yet: `#ops and ana@shop.example immediately;
 * Pager after 5 min · 1 channel cannot deliver`.
 */
export function notificationInWords(items: readonly Recipient[]): Html {
  const able = items.filter(({ shut }) => shut === null);
  const shown = able.slice(0, maxNames);
  const more = able.length - shown.length;
  const told = [...Map.groupBy(shown, ({ delay_s }) => delay_s)].map(
    ([delay_s, some]) => `${listed(some.map(({ name }) => name))} ${delayText(delay_s)}`,
  );
  if (more > 0) told.push(`${more} more`);
  const failing = items.filter(({ shut }) => stateOf(shut) === 'down').length;
  const others = Map.groupBy(
    items.flatMap(({ shut }) => (shut === null || stateOf(shut) === 'down' ? [] : [shut])),
    (shut) => (shutWords[shut] ?? shut).toLowerCase(),
  );
  return html`
    ${told.length === 0 ? 'Nobody would be notified when it is down' : told.join('; ')}
    ${[...others].map(([words, some]) => ` · ${some.length} ${words}`)}
    ${
      failing > 0 &&
      html`
        ${' · '}<span class="state-verifying">
          ${failing} ${failing === 1 ? 'channel' : 'channels'} cannot deliver
        </span>
      `
    }
  `;
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** The recipients of a monitor's notifications, in order of time. */
export function recipients(items: readonly Recipient[]): Html {
  return html`
    <section class="card" id="told">
      <div class="section-head"><h2>Notified</h2><a href="/alerts">All channels</a></div>
      ${items.every(({ shut }) => shut !== null) && html`<p>Nobody is notified when it is down.</p>`}
      ${items.length > 0 && html`<ul class="lines">${items.map(rowOf)}</ul>`}
    </section>
  `;
}

const shutStates: Readonly<Record<string, State>> = {
  off: 'paused',
  mail_missing: 'down',
  failing: 'down',
};

function rowOf({ channel, name, owner, delay_s, shut }: Recipient): Html {
  return html`
    <li class="row">
      <span>
        <a href="/alerts/${channel}">${name}</a> <span class="soft">
          ${delayText(delay_s)}
          ${owner !== null && `, ${owner}`}
        </span>
      </span>
      ${shut !== null && shutMark(shut)}
    </li>
  `;
}

function stateOf(shut: string | null): State {
  return shutStates[shut ?? ''] ?? 'unknown';
}

export function shutMark(shut: string): Html {
  return stateMark(stateOf(shut), shutWords[shut] ?? shut);
}
