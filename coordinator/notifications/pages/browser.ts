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

/** Parts that the page's script shows, depending on what it finds and how the test goes. */
const when = (states: string, words: Part, isGrave = false): Html =>
  isGrave
    ? html`
      <p class="field-fault" role="alert" data-push-when="${states}" hidden>
        ${icon('down')}
        <span>${words}</span>
      </p>
    `
    : html`<p class="soft" role="status" data-push-when="${states}" hidden>${words}</p>`;

const inWords = (origin: string): Html => html`
  ${when(
    'elsewhere',
    html`
      A browser is told by the address that it was added at.
      Open <a href="${safeUrl(`${origin}${path}`)}">${origin}${path}</a>.
    `,
  )}
  ${when(
    'insecure',
    'Browsers take notifications only over https, and this page came over http. Whoever runs this installation can set it up with a certificate.',
  )}
  ${when(
    'unable',
    'This browser knows no notifications from pages. Use another browser, or another way of being told.',
  )}
  ${when(
    'home-screen',
    'On an iPhone or iPad only what stands on the home screen may notify you: choose “Share”, then “Add to Home Screen”, open Antipode from there, and come back to this page.',
  )}
  ${when(
    'denied',
    'This browser does not let this page show notifications. Allow them in its settings for this site, beside the address, and load the page again.',
    true,
  )}
  ${when('asking', 'Your browser asks you now whether it may.')}
  ${when('sending', 'A test is on its way; it is saved as soon as it is here.')}
  ${when(
    'silent',
    'The test was taken, and has not come within half a minute. Look whether your system lets this browser notify you, then try again; or save it all the same.',
    true,
  )}
  ${when('refused', html`<span data-push-words></span> Nothing is saved.`, true)}
  ${when(
    'failed',
    'The browser could not be asked: it reaches no push service, or this page could not be reached. Nothing is saved.',
    true,
  )}
`;

const formPart = (request: MembersRequest, key: string, state: FormState): Html => {
  const origin = request.with.baseUrl();
  return html`
    <form
      class="form card stack this-browser"
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
          label: 'Name of this channel',
          state,
          autocomplete: 'off',
          required: false,
          placeholder: 'Browser notification',
        })}
      </div>
      ${when(
        'able',
        'Your browser asks whether it may. Then a test is sent here, and the channel is saved as soon as the test has arrived.',
      )}
      ${inWords(new URL(origin).origin)}
      <noscript>
        <p class="soft">
          This needs scripts, and your browser runs none here: only a script can ask it.
          All <a href="/alerts/new">other ways</a> of being told work without.
        </p>
      </noscript>
      <div class="actions">
        <button class="button button-main" data-push-when="able silent refused failed" hidden>
          ${icon('alerts')}Notify me here
        </button>
        <button class="button" name="act" value="save" data-push-when="silent" hidden>
          Save it all the same
        </button>
        ${linkButton('/alerts', 'Leave it')}
      </div>
    </form>
  `;
};

const pageOf = (request: MembersRequest, key: string, state: FormState): PageAnswer =>
  show({
    title: 'Notify this browser',
    place: 'alerts',
    push: true,
    status: state.status,
    main: html`
      <div class="channel-form-page">
        ${heading({
          sentence: 'Be told in this browser',
          below:
            'A notification appears on this device as soon as an outage is confirmed, and when it is over, also while no page of Antipode is open.',
          trail: [
            { href: '/alerts', name: 'Alerts' },
            { href: '/alerts/new', name: 'New channel' },
          ],
        })}
        ${formSummary(state)}
        ${formPart(request, key, state)}
        <ul class="soft this-browser-facts">
          <li>
            It is your own channel, told of all monitors and at once; all that can be changed
            afterwards.
          </li>
          <li>Only this browser can read what is sent, not the push service that carries it.</li>
          <li>
            Each device and each browser is a channel of its own. Deleting the channel ends it.
          </li>
        </ul>
      </div>
    `,
  });

const kindAndKey = async (
  request: MembersRequest,
): Promise<{ readonly kind: Kind; readonly key: string }> => {
  refuseUnlessMay(request, createChannel);
  const { items, push_key: key } = await request.ask(listChannelKinds);
  const kind = items.find(({ id }) => id === kindId);
  if (kind === undefined)
    throw new Refusal('channel_kind_unknown', 'This installation tells no browsers.');
  return { kind, key };
};

const browserPage: Page = {
  method: 'GET',
  path,
  needs: 'member',
  answer: async (request) => {
    const [{ key }, { items: sessions }] = await Promise.all([
      kindAndKey(request),
      request.askOwn(listSessions),
    ]);
    const device = sessions.find(({ is_this }) => is_this)?.device;
    return pageOf(request, key, freshForm(formOf({ name: device })));
  },
};

/** Requested by the page's script, which then waits for the test. */
const tested: Page = {
  method: 'POST',
  path: `${path}/test`,
  needs: 'member',
  answer: async (request) => {
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
        verdict === 'taken',
        words === null ? '' : `The test was not taken: ${words}.`,
      );
    } catch (error) {
      const { faults, objections, status } = refusedChannelForm(request.form, error, kind);
      return answer(status, false, [...objections, ...faults.values()].join(' '));
    }
  },
};

const posted: Page = {
  method: 'POST',
  path,
  needs: 'member',
  answer: async (request) => {
    const { kind, key } = await kindAndKey(request);
    try {
      const { id, name } = await request.ask(createChannel, {
        kind: kindId,
        ...inputIn(request.form, kind),
        personal: 'true',
      });
      return seeOther(`/alerts/${id}`, { said: `${name} is told from now on.` });
    } catch (error) {
      return pageOf(request, key, refusedChannelForm(request.form, error, kind));
    }
  },
};

export const browserPages: readonly Page[] = [browserPage, tested, posted];
