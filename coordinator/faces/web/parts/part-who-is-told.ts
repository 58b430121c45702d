import type { listTold } from '../../../../shared/api/inner/inner-alerts.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { mailMissingWords } from '../web-delivery-bar.ts';
import { type Html, html } from '../web-html.ts';
import { linkButton, notice } from '../web-layout.ts';
import { delayText } from './part-channels.ts';
import { type State, stateMark } from './part-states.ts';

type Told = OutputOf<typeof listTold>['items'][number];

const shutWords: Readonly<Record<string, string>> = {
  ...{ off: 'Off', unproven: 'Not confirmed yet', unsubscribed: 'Unsubscribed' },
  mail_missing: mailMissingWords,
};

const shutStates: Readonly<Record<string, State>> = { off: 'paused', mail_missing: 'down' };

const rowOf = ({ channel, name, owner, delay_s, shut }: Told): Html =>
  html`<li><a href="/alerts/${channel}">${name}</a> <span class="soft">${delayText(delay_s)}${owner !== null && `, ${owner}`}</span>${
    shut !== null && html` ${stateMark(shutStates[shut] ?? 'unknown', shutWords[shut] ?? shut)}`
  }</li>`;

/** Where an address is asked for that cannot be mailed. */
export const mailMissingNotice: Html = notice(
  'down',
  mailMissingWords,
  'Nothing is sent to any address until the operator of this installation sets SMTP_URL; until then only your own address is taken.',
);

const mostNames = 8;

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

/** The same in sentences, for a monitor that is not saved yet: `#ops and ana@shop.example at once; Pager after 5 min.` */
export const toldInWords = (items: readonly Told[]): string => {
  const able = items.filter(({ shut }) => shut === null);
  const shown = able.slice(0, mostNames);
  const more = able.length - shown.length;
  const told = [...Map.groupBy(shown, ({ delay_s }) => delay_s)].map(
    ([delay_s, some]) => `${listed(some.map(({ name }) => name))} ${delayText(delay_s)}`,
  );
  if (more > 0) told.push(`${more} more`);
  const not = items.filter(({ shut }) => shut !== null).map(({ name, shut }) => `${name} (${(shutWords[shut ?? ''] ?? '').toLowerCase()})`);
  return [
    told.length === 0 ? 'Nobody would be told when it is down.' : `${told.join('; ')}.`,
    ...(not.length === 0
      ? []
      : [`Not told: ${not.slice(0, mostNames).join(', ')}${not.length > mostNames ? ` and ${not.length - mostNames} more` : ''}.`]),
  ].join(' ');
};

/** Who is told of a monitor, the first first. */
export const whoIsTold = (items: readonly Told[]): Html =>
  html`<section class="card" id="told"><h2>Who is told</h2>${
    items.every(({ shut }) => shut !== null) && html`<p>Nobody is told when it is down.</p>`
  }${items.length > 0 && html`<ul class="told-list">${items.map(rowOf)}</ul>`}<p class="actions">${linkButton('/alerts', 'All channels', { symbol: 'alerts' })}</p></section>`;
