import {
  checkStatusPageDomain,
  renewStatusPageLink,
  updateStatusPage,
} from '../../../shared/api/status-pages.ts';
import { notice } from '../../web/elements.ts';
import { formOf, noForm } from '../../web/form-data.ts';
import { checkField, choiceField, selectField, textArea, textField } from '../../web/forms.ts';
import { type Html, html, icon, safeUrl } from '../../web/html.ts';
import { setStatusPageLogo } from '../contract.ts';
import { card, type Editing, languageNames, stateOf, summaryOf } from './cards.ts';

/** Appearance: its words, its colour, its logo. */

export const settingNames = [
  'name',
  'slug',
  'description',
  'language',
  'accent',
  'enabled',
] as const;

const swatch = (accent: string | null): Html | null =>
  accent === null
    ? null
    : html`
      <svg class="accent-swatch" viewBox="0 0 20 20" aria-hidden="true">
        <rect width="20" height="20" rx="4" fill="${accent}"></rect>
      </svg>
    `;

const languages = Object.entries(languageNames).map(([value, label]) => ({ value, label }));

export const lookCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (!request.may(updateStatusPage)) return null;
  const { name, slug, description, language, accent, enabled } = page;
  const state = stateOf(
    editing,
    'settings',
    formOf({ name, slug, description, language, accent, enabled: String(enabled) }),
  );
  return card(
    'look',
    'How it looks',
    null,
    html`
      ${summaryOf(editing, 'settings')}
      <form class="form" method="post" action="/status-pages/${page.id}/settings">
        ${textField({ name: 'name', label: 'Name', state, required: true, autocomplete: 'off' })}
        ${textArea({
          name: 'description',
          label: 'What it is about',
          state,
          rows: 2,
          required: false,
          help: 'Shown below the name.',
        })}
        ${textField({
          name: 'slug',
          label: 'Address',
          state,
          required: true,
          autocomplete: 'off',
          help: html`
            ${editing.editor.base_url}/status/… Links to the old address lead nowhere once it is
            changed.
          `,
        })}
        ${selectField({
          name: 'language',
          label: 'Language',
          state,
          choices: languages,
          help: 'Of the words that the page itself says, and of the usual words of a post.',
        })}
        <div class="accent-field">
          ${swatch(accent)}
          ${textField({
            name: 'accent',
            label: 'Accent colour',
            state,
            required: false,
            autocomplete: 'off',
            placeholder: '#0a5bb5',
            help: 'For links and the line at the top; dark enough to be read on white. In the dark it is made lighter by itself.',
          })}
        </div>
        ${checkField({
          name: 'enabled',
          label: 'Published',
          state,
          help: 'Switched off, it answers as if it did not exist.',
        })}
        <div class="actions"><button class="button button-main">Save how it looks</button></div>
      </form>
    `,
  );
};

export const logoCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (!request.may(setStatusPageLogo)) return null;
  const state = stateOf(editing, 'logo', noForm);
  const fault = state.faults.get('logo');
  return card(
    'logo',
    'Logo',
    null,
    html`
      ${summaryOf(editing, 'logo')}
      ${
        page.logo !== null &&
        html`
          <p class="logo-now">
            <img
              src="${safeUrl(`/status-pages/${page.id}/logo?v=${page.logo}`)}"
              alt="The logo of ${page.name}"
            >
          </p>
        `
      }
      <form
        class="form"
        method="post"
        action="/status-pages/${page.id}/logo"
        enctype="multipart/form-data"
      >
        <div class="field">
          <label for="field-logo">${page.logo === null ? 'A picture' : 'Another picture'}</label>
          <input
            type="file"
            id="field-logo"
            name="logo"
            accept="image/png,image/jpeg,image/webp"
            required
            aria-describedby="field-logo-help${fault !== undefined && ' field-logo-fault'}"${
              fault !== undefined && html` aria-invalid="true"`
            }
          >
          <p class="field-help" id="field-logo-help">
            PNG, JPEG or WebP of at most 100 KB. It is shown 40 pixels high.
          </p>
          ${
            fault !== undefined &&
            html`<p class="field-fault" id="field-logo-fault">${icon('down')}${fault}</p>`
          }
        </div>
        <div class="actions"><button class="button">Show this logo</button></div>
      </form>
      ${
        page.logo !== null &&
        html`
          <form method="post" action="/status-pages/${page.id}/logo/remove">
            <button class="button button-quiet">${icon('delete')}Take the logo away</button>
          </form>
        `
      }
    `,
  );
};

/** Who sees it, and at which address. */

const copyable = (text: string): Html =>
  html`
    <p class="copyable">
      <code>${text}</code>
      <button class="button" type="button" data-copy="${text}" hidden>${icon('copy')}Copy</button>
    </p>
  `;

const linkPart = ({ page, link }: Editing): Html | null => {
  if (page.access !== 'link') return null;
  if (link !== undefined)
    return html`
      <div class="stack" id="link">
        ${notice(
          'information',
          'This link is shown only now.',
          'Whoever has it sees the page, until another is made. Links that were made before lead nowhere.',
        )}
        ${copyable(link)}
      </div>
    `;
  return html`
    <div class="stack" id="link">
      ${
        page.has_link
          ? html`
            <p class="soft">
              A link was made; whoever has it sees the page. It cannot be shown again.
            </p>
          `
          : notice('verifying', 'There is no link yet.', 'Nobody sees the page until one is made.')
      }
      <form method="post" action="/status-pages/${page.id}/link">
        <button class="button">
          ${icon('share')}
          ${page.has_link ? 'Make another link' : 'Make the link'}
        </button>
      </form>
    </div>
  `;
};

export const accessCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (!request.may(renewStatusPageLink)) return null;
  const state = stateOf(editing, 'access', formOf({ access: page.access }));
  return card(
    'access',
    'Who sees it',
    'Its feeds, calendar and badges are as open or as closed as the page.',
    html`
      ${summaryOf(editing, 'access')}
      <form class="form" method="post" action="/status-pages/${page.id}/access">
        ${choiceField({
          name: 'access',
          label: 'It is seen by',
          state,
          choices: [
            { value: 'public', label: 'Everybody' },
            { value: 'password', label: 'Who knows a password' },
            { value: 'link', label: 'Who has a link' },
          ],
        })}
        <div class="password-part">
          ${textField({
            name: 'password',
            label: page.has_password ? 'Another password' : 'The password',
            type: 'password',
            autocomplete: 'new-password',
            state,
            required: false,
            help: page.has_password
              ? 'There is one already; left empty it stays. With another one everybody is asked anew.'
              : 'Of at least 8 characters, for all who shall see the page.',
          })}
        </div>
        <div class="actions"><button class="button">Save who sees it</button></div>
      </form>
      ${linkPart(editing)}
    `,
  );
};

const recordTable = ({
  record_name,
  record_text,
}: {
  readonly record_name: string;
  readonly record_text: string;
}): Html =>
  html`
    <dl class="record">
      <dt>Kind</dt>
      <dd><code>TXT</code></dd>
      <dt>Name</dt>
      <dd>${copyable(record_name)}</dd>
      <dt>Text</dt>
      <dd>${copyable(record_text)}</dd>
    </dl>
  `;

const foundThere = (texts: readonly string[] | undefined): Html | null => {
  if (texts === undefined) return null;
  return texts.length === 0
    ? notice(
        'verifying',
        'There is no such record yet.',
        'DNS was asked just now. A new record can take some minutes, with some providers hours.',
      )
    : notice(
        'verifying',
        'There is a record, and it says something else.',
        html`It says: ${texts.map((text) => html`<code>${text}</code> `)}`,
      );
};

export const domainCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (!request.may(updateStatusPage) || !request.may(checkStatusPageDomain)) return null;
  const { domain } = page;
  const state = stateOf(editing, 'domain', formOf({ domain: domain?.name }));
  const host = new URL(editing.editor.base_url).host;
  const act = (name: string, words: string, quiet = false) =>
    html`
      <button class="button${quiet && ' button-quiet'}" name="act" value="${name}" formnovalidate>
        ${words}
      </button>
    `;
  return card(
    'domain',
    'A domain of its own',
    domain?.proved_at
      ? null
      : 'Such as status.example.com. A record in its DNS proves that it is yours.',
    html`
      ${summaryOf(editing, 'domain')}
      ${
        domain?.proved_at &&
        notice(
          'up',
          html`${domain.name} is this page’s.`,
          html`
            Proved ${request.times.day(domain.proved_at)}. It shows this page alone; nobody signs in
            there. Keep the record in DNS: it is checked each week, and after a month without it the
            domain is released.
          `,
        )
      }
      <form class="form" method="post" action="/status-pages/${page.id}/domain">
        ${textField({
          name: 'domain',
          label: 'Domain',
          state,
          autocomplete: 'off',
          inputmode: 'url',
          required: false,
          placeholder: 'status.example.com',
        })}
        <div class="actions">
          ${act('save', domain === null ? 'Take this domain' : 'Change it')}
          ${domain !== null && act('remove', 'Take it away', true)}
        </div>
      </form>
      ${
        domain !== null &&
        domain.proved_at === null &&
        html`
          <div class="stack" id="record">
            <p>Write this into the DNS of ${domain.name}:</p>
            ${recordTable(domain)}
            ${foundThere(editing.texts)}
            <form method="post" action="/status-pages/${page.id}/domain">
              <button class="button" name="act" value="check">${icon('again')}Check now</button>
            </form>
          </div>
        `
      }
      ${
        domain !== null &&
        html`
          <p class="soft">
            Then let the domain lead to <code>${host}</code> (a CNAME), and let the proxy there
            answer for it with a certificate.
          </p>
        `
      }
    `,
  );
};
