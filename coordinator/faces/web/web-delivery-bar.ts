import type { showDelivery } from '../../../shared/api/inner/inner-alerts.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { type Html, html } from './web-html.ts';
import { icon } from './web-icons.ts';

export type Delivery = OutputOf<typeof showDelivery>;

/** The same words wherever an address that cannot be mailed is shown. */
export const mailMissingWords = 'Cannot deliver: e-mail is not set up';

const mostNames = 3;

const named = (names: readonly string[]): string => {
  const shown = names.length > mostNames ? [...names.slice(0, mostNames), `${names.length - mostNames} more`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
};

const reasons = ({ channels, failing }: Delivery): readonly string[] => {
  const unmailed = failing.filter(({ obstacle }) => obstacle === 'mail_missing');
  const refused = failing.filter(({ obstacle }) => obstacle === 'failing').map(({ name }) => name);
  if (channels === 0) return ['There is no channel yet.'];
  if (failing.length === 0) return ['Every channel is off, unsubscribed or not confirmed.'];
  return [
    ...(unmailed.length > 0 ? [`${mailMissingWords} (${named(unmailed.map(({ name }) => name))}).`] : []),
    ...(refused.length > 0 ? [`${named(refused)} cannot deliver alerts.`] : []),
  ];
};

/** An alert that cannot arrive is said before it is lost, on every page: red while no channel can deliver, amber while one of several cannot. */
export const deliveryBar = (delivery: Delivery | undefined): Html | null => {
  if (delivery === undefined || (delivery.can_deliver && delivery.failing.length === 0)) return null;
  const state = delivery.can_deliver ? 'verifying' : 'down';
  const title = delivery.can_deliver ? 'Some alerts cannot be delivered' : 'No alert can be delivered';
  return html`<div class="notice notice-${state} muted" id="delivery">${icon(state)}<div><p class="notice-title">${title}</p><p>${reasons(delivery).join(' ')}</p></div><a class="button" href="/alerts">Channels</a></div>`;
};
