import { createChannel } from '../../../shared/api/channels.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { listSessions } from '../../people/contract.ts';
import { heading, linkButton } from '../../web/elements.ts';
import { formOf } from '../../web/form-data.ts';
import {
  type FormState,
  formSummary,
  freshForm,
  hiddenField,
  refuseUnlessMay,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  send,
  show,
} from '../../web/page.ts';
import { listChannelKinds, tryChannel } from '../contract.ts';
import { configIn, inputIn } from './input.ts';
import { type Kind, refusedChannelForm } from './parts.ts';

/** The browser as a channel: it alone can say where to notify it, so it has a page of its own. */

const path = '/alerts/this-browser';
const kindId = 'web_push';

const browserPage = forMembers.get(path, async (request) => {
  const [{ key }, { items: sessions }] = await Promise.all([
    kindAndKey(request),
    request.askOwn(listSessions),
  ]);
  const device = sessions.find(({ is_this }) => is_this)?.device;
  return pageOf(request, key, freshForm(formOf({ name: device })));
});

async function kindAndKey(
  request: MembersRequest,
): Promise<{ readonly kind: Kind; readonly key: string }> {
  refuseUnlessMay(request, createChannel);
  const { items, push_key: key } = await request.ask(listChannelKinds);
  const kind = items.find(({ id }) => id === kindId);
  if (kind === undefined)
    throw new Refusal('channel_kind_unknown', 'This installation has no browser notifications.');
  return { kind, key };
}

function pageOf(request: MembersRequest, key: string, state: FormState): PageAnswer {
  return show({
    title: 'Notify this browser',
    place: 'alerts',
    push: true,
    status: state.status,
    main: html`
      <div class="stack">
        ${heading({
          sentence: 'New browser channel',
          below:
            'You get a notification on this device when an outage is confirmed and when it is resolved, even while no Antipode page is open.',
          trail: [
            { href: '/alerts', name: 'Alerts' },
            { href: '/alerts/new', name: 'New channel' },
          ],
        })}
        ${formSummary(state)}
        ${formPart(request, key, state)}
        <ul class="soft plain-list">
          <li>
            The channel is yours and gets all alerts immediately. You can change that afterwards.
          </li>
          <li>Messages are encrypted for this browser. The push service cannot read them.</li>
          <li>
            Each browser on each device is its own channel. Delete the channel to stop it.
          </li>
        </ul>
      </div>
    `,
  });
}

function formPart(request: MembersRequest, key: string, state: FormState): Html {
  const origin = request.with.baseUrl();
  return html`
    <form
      class="form card"
      method="post"
      data-push
      data-key="${key}"
      data-origin="${new URL(origin).origin}"
      data-test="${path}/test"
      data-scripts
    >
      ${['endpoint', 'p256dh', 'auth'].map((name) => hiddenField(`config.${name}`, ''))}
      <div class="stack" data-push-when="able asking sending silent refused failed" hidden>
        ${textField({
          name: 'name',
          label: 'Name',
          state,
          autocomplete: 'off',
          required: false,
          placeholder: 'Browser notification',
        })}
      </div>
      ${when(
        'able',
        'Your browser asks for permission. Then a test is sent here, and the channel is created as soon as it arrives.',
      )}
      ${inWords(new URL(origin).origin)}
      <noscript>
        <p class="soft">
          Browser notifications need JavaScript.
          All <a href="/alerts/new">other kinds of channels</a> work without it.
        </p>
      </noscript>
      <div class="actions">
        <button class="button button-main" data-push-when="able silent refused failed" hidden>
          ${icon('alerts')}Notify me here
        </button>
        <button class="button" name="act" value="save" data-push-when="silent" hidden>
          Create channel anyway
        </button>
        ${linkButton('/alerts', 'Cancel')}
      </div>
    </form>
  `;
}

/** Parts that the page's script shows, depending on what it finds and how the test goes. */
function when(states: string, words: Part, isGrave = false): Html {
  return isGrave
    ? html`
      <p class="field-fault" role="alert" data-push-when="${states}" hidden>
        ${icon('down')}
        <span>${words}</span>
      </p>
    `
    : html`<p class="soft" role="status" data-push-when="${states}" hidden>${words}</p>`;
}

function inWords(origin: string): Html {
  return html`
  ${when(
    'elsewhere',
    html`
      Add a browser at the address of this installation.
      Open <a href="${safeUrl(`${origin}${path}`)}">${origin}${path}</a>.
    `,
  )}
  ${when(
    'insecure',
    'Browsers allow notifications only over https, and this page came over http. Ask the operator of this installation to set up a certificate.',
  )}
  ${when(
    'unable',
    'This browser does not support notifications. Use another browser or another kind of channel.',
  )}
  ${when(
    'home-screen',
    'On an iPhone or iPad only apps on the home screen can notify you. Choose “Share”, then “Add to Home Screen”, open Antipode from there, and come back to this page.',
  )}
  ${when(
    'denied',
    'Notifications are blocked for this site. Allow them in the site settings beside the address, and reload the page.',
    true,
  )}
  ${when('asking', 'Your browser now asks for permission.')}
  ${when('sending', 'Test sent. The channel is created as soon as the test arrives.')}
  ${when(
    'silent',
    'The test was sent, but did not arrive within 30 s. Check that your system lets this browser notify you, then try again, or create the channel anyway.',
    true,
  )}
  ${when('refused', html`<span data-push-words></span> No channel was created.`, true)}
  ${when(
    'failed',
    'The browser could not reach its push service or this page. No channel was created.',
    true,
  )}
`;
}

/** Requested by the page's script, which then waits for the test. */
const tested = forMembers.post(`${path}/test`, async (request) => {
  const { kind } = await kindAndKey(request);
  const answer = (status: number, taken: boolean, words: string): PageAnswer =>
    send({
      status,
      type: 'application/json',
      body: JSON.stringify({ taken, words }),
      headers: { 'cache-control': 'no-store' },
    });
  try {
    const { verdict, words } = await request.ask(tryChannel, {
      kind: kindId,
      config: configIn(request.form, kind),
    });
    return answer(
      200,
      verdict === 'delivered',
      words === null ? '' : `Test not delivered: ${words}.`,
    );
  } catch (error) {
    const { faults, objections, status } = refusedChannelForm(request.form, error, kind);
    return answer(status, false, [...objections, ...faults.values()].join(' '));
  }
});

const posted = forMembers.post(path, async (request) => {
  const { kind, key } = await kindAndKey(request);
  try {
    const { id, name } = await request.ask(createChannel, {
      kind: kindId,
      ...inputIn(request.form, kind),
      personal: 'true',
    });
    return seeOther(`/alerts/${id}`, { said: `Channel created: ${name}.` });
  } catch (error) {
    return pageOf(request, key, refusedChannelForm(request.form, error, kind));
  }
});

export const browserPages: readonly Page[] = [browserPage, tested, posted];
