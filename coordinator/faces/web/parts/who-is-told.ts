import type { listTold } from '../../../../shared/api/inner/alerts.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { type Html, html } from '../html.ts';
import { linkButton } from '../layout.ts';
import { delayText } from './channels.ts';
import { stateMark } from './states.ts';

type Told = OutputOf<typeof listTold>['items'][number];

const shutWords: Readonly<Record<string, string>> = { off: 'Off', unproven: 'Not confirmed yet', unsubscribed: 'Unsubscribed' };

const rowOf = ({ channel, name, owner, delay_s, shut }: Told): Html =>
  html`<li><a href="/alerts/${channel}">${name}</a> <span class="soft">${delayText(delay_s)}${owner !== null && `, ${owner}`}</span>${
    shut !== null && html` ${stateMark(shut === 'off' ? 'paused' : 'unknown', shutWords[shut] ?? shut)}`
  }</li>`;

/** Who is told of a monitor, the first first. */
export const whoIsTold = (items: readonly Told[]): Html =>
  html`<section class="card" id="told"><h2>Who is told</h2>${
    items.every(({ shut }) => shut !== null) && html`<p>Nobody is told when it is down.</p>`
  }${items.length > 0 && html`<ul class="told-list">${items.map(rowOf)}</ul>`}<p class="actions">${linkButton('/alerts', 'All channels', { symbol: 'alerts' })}</p></section>`;
