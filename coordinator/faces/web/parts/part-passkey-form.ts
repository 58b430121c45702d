import { hiddenField } from '../web-forms.ts';
import { type Html, html, type Part, safeUrl } from '../web-html.ts';
import { type IconName, icon } from '../web-icons.ts';

type PasskeyForm = {
  /** To make one, or to have one sign. */
  readonly does: 'create' | 'get';
  readonly action: string;
  readonly verb: string;
  readonly symbol: IconName;
  readonly main?: boolean;
  readonly next?: string;
  /** Where passkeys are good, and this page there. */
  readonly origin: string;
  readonly address: string;
  readonly fields?: Part;
  readonly beside?: Part;
};

/** A form that only a browser with scripts can answer; it says so to all others. Its page is shown with `passkeys: true`. */
export const passkeyForm = ({ does, action, verb, symbol, main = false, next, origin, address, fields, beside }: PasskeyForm): Html =>
  html`<form class="form passkey" method="post" action="${safeUrl(action)}" data-passkey="${does}" data-options="${safeUrl(`${action}/options`)}" data-origin="${origin}" data-scripts>
${next !== undefined && hiddenField('next', next)}${hiddenField('answer', '')}
<div data-passkey-able hidden>${fields}<div class="actions"><button class="button${main && ' button-main'}">${icon(symbol)}${verb}</button>${beside}</div></div>
<p class="field-fault" role="alert" data-passkey-failed hidden>${icon('down')}${
    does === 'create'
      ? 'No passkey was made. Try again, or look whether this device has one already.'
      : 'No passkey was given. Try again, or use another way.'
  }</p>
<p class="soft" data-passkey-elsewhere hidden>Passkeys are good at <a href="${safeUrl(`${origin}${address}`)}">${origin}</a>.</p>
<p class="soft" data-passkey-unable hidden>This browser knows no passkeys.</p>
<noscript><p class="soft">A passkey needs scripts, and your browser runs none here.</p></noscript>
</form>`;
