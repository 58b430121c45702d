import type { OutputOf } from '../../shared/api/operation.ts';
import {
  createPingKey,
  endPingKey,
  listPingKeys,
  rotatePingKey,
} from '../../shared/api/ping-keys.ts';
import { copyable, heading, linkButton, moreLink } from '../web/elements.ts';
import { type FormState, formSummary, textField } from '../web/forms.ts';
import { type Html, html, query } from '../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../web/page.ts';
import { acts, stepTable } from '../web/tables.ts';

type Made = OutputOf<typeof createPingKey>;

/** Ping keys, the form of a new one below them; the key itself is shown once, by its answer. */
export const newPingKeyPages = forMembers.form('/ping-keys', (request) => ({
  shown: (state) => list(request, state),
  fields: ['name'],
  act: async () =>
    made(await request.ask(createPingKey, { name: request.form.value('name') ?? '' })),
}));

export const replacePingKey = forMembers.post(
  '/ping-keys/:ping_key_id/rotate',
  async ({ ask, path }) => made(await ask(rotatePingKey, { ping_key_id: path.ping_key_id })),
);

export const endingPingKey = forMembers.post(
  '/ping-keys/:ping_key_id/end',
  async ({ ask, path }) => {
    await ask(endPingKey, { ping_key_id: path.ping_key_id });
    return seeOther('/ping-keys', { said: 'Ping key ended.' });
  },
);

export const pingKeyPages: readonly Page[] = [...newPingKeyPages, replacePingKey, endingPingKey];

const trail = [{ href: '/tokens', name: 'API & assistants' }];

async function list(request: MembersRequest, state: FormState): Promise<PageAnswer> {
  const { ask, query: asked, times } = request;
  const { items, next_cursor } = await ask(
    listPingKeys,
    asked.cursor === undefined ? {} : { cursor: asked.cursor },
  );
  return show({
    title: 'Ping keys',
    place: 'tokens',
    status: state.status,
    main: html`
      ${heading({
        sentence: 'Ping keys',
        below: html`
          One key for all heartbeats: ping <code>/KEY/EXTERNAL_ID</code>.${' '}
          <a href="/docs/heartbeats">How to ping</a>
        `,
        trail,
      })}
      ${stepTable(
        items.map(({ id, name, shown, created_at, until, over }) => ({
          id: `ping-key-${id}`,
          Name: html`<b>${name}</b>`,
          Key: html`<code>${shown}…</code>`,
          Created: times.moment(created_at),
          Ends:
            until === null
              ? 'Never'
              : over
                ? html`Ended ${times.moment(until)}`
                : times.moment(until),
          'Replace or end': acts(!over && buttons(id, name, until === null)),
        })),
      )}
      ${next_cursor !== null && moreLink(`/ping-keys${query({ cursor: next_cursor })}`, 'Earlier')}
      <section>
        <h2>New ping key</h2>
        ${formSummary(state)}
        <form class="card form" method="post">
          ${textField({
            name: 'name',
            label: 'Name',
            required: true,
            autocomplete: 'off',
            placeholder: 'Nightly jobs',
            help: 'What it is for.',
            state,
          })}
          <div class="actions"><button class="button button-main">Create ping key</button></div>
        </form>
      </section>
    `,
  });
}

function buttons(id: string, name: string, mayReplace: boolean): Html {
  return html`
  <div class="actions">
    ${
      mayReplace &&
      html`
        <form method="post" action="/ping-keys/${id}/rotate">
          <button class="button">Replace<span class="unseen"> ${name}</span></button>
        </form>
      `
    }
    <form method="post" action="/ping-keys/${id}/end">
      <button class="button button-danger">End<span class="unseen"> ${name}</span></button>
    </form>
  </div>
`;
}

/** Shown once: only a fingerprint is stored. */
function made({ name, address }: Made): PageAnswer {
  return show({
    title: 'Ping key created',
    place: 'tokens',
    headers: { 'cache-control': 'no-store' },
    main: html`
      ${heading({
        sentence: 'Copy your ping key now',
        below: html`You see <b>${name}</b> only once. Anyone who has it can send pings for your heartbeats.`,
        trail,
      })}
      <div class="card stack">
        ${copyable(address, 'the address')}
        <p class="soft">
          Replace <code>EXTERNAL_ID</code> with the external ID of a heartbeat. The endings are those
          of every ping address: <code>/start</code>, <code>/fail</code>, <code>/log</code>, or an
          exit code.
        </p>
        <p>To create the heartbeat with its first ping, daily until you change it:</p>
        ${copyable(
          `curl -fsS '${address.replace('EXTERNAL_ID', 'nightly-backup')}?create=1'`,
          'the command',
        )}
      </div>
      <p class="actions">${linkButton('/ping-keys', 'Done', { main: true })}</p>
    `,
  });
}
