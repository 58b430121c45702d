import { checkStatusPageDomain, renewStatusPageLink } from '../../../shared/api/status-pages.ts';
import { copyable, fold, notice } from '../../web/elements.ts';
import { type Form, inputOf } from '../../web/form-data.ts';
import {
  checkField,
  choiceField,
  type FormState,
  selectField,
  textArea,
  textField,
} from '../../web/forms.ts';
import { type Html, html, icon, type Part, safeUrl } from '../../web/html.ts';
import { setStatusPageLogo } from '../contract.ts';
import { accessWords, type Editing, languageNames } from './cards.ts';

/** Appearance, access and domain: folds of the editor's one form. The logo is a file, and has its own. */

const texts = ['name', 'slug', 'description', 'accent', 'domain'];
const switches = ['enabled'];
export const settingNames = [...texts, ...switches, 'language', 'access', 'password'];

/** A text may be empty, and a switch is sent only while it is on. */
export function settingsIn(form: Form): Readonly<Record<string, unknown>> {
  const states = switches.map((name) => [name, form.value(name) === 'true']);
  return { ...inputOf(form, texts), ...Object.fromEntries(states) };
}

const languages = Object.entries(languageNames).map(([value, label]) => ({ value, label }));

const lookNames = ['name', 'description', 'slug', 'language', 'accent', 'logo', 'enabled'];

/** A refusal in a fold opens it. */
function isAtFault({ faults }: FormState, names: readonly string[]): boolean {
  return names.some((name) => faults.has(name));
}

export function lookFold(editing: Editing): Html {
  const { page, editor, state } = editing;
  return fold({
    title: 'Appearance',
    says: [
      state.form.value('name') ?? page.name,
      languageNames[page.language] ?? page.language,
      ...(page.accent === null ? [] : [page.accent]),
      ...(page.logo === null ? [] : ['logo']),
      ...(page.enabled ? [] : ['not published']),
    ].join(' · '),
    isSet: true,
    isOpen: isAtFault(state, lookNames),
    body: html`
          ${textField({ name: 'name', label: 'Name', state, required: true, autocomplete: 'off' })}
          ${textArea({
            name: 'description',
            label: 'Description',
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
            help: html`${editor.base_url}/status/… A change breaks links to the old address.`,
          })}
          ${selectField({
            name: 'language',
            label: 'Language',
            state,
            choices: languages,
            help: 'Of the page itself and of suggested posts.',
          })}
          <div class="accent-field">
            ${swatch(page.accent)}
            ${textField({
              name: 'accent',
              label: 'Accent colour',
              state,
              required: false,
              autocomplete: 'off',
              placeholder: '#0a5bb5',
              help: 'For links and the line at the top. Dark mode uses a lighter shade.',
            })}
          </div>
          ${logoFields(editing)}
          ${checkField({
            name: 'enabled',
            label: 'Published',
            state,
            help: 'When off, visitors see “not found”.',
          })}
    `,
  });
}

function swatch(accent: string | null): Html | null {
  return accent === null
    ? null
    : html`
      <svg class="accent-swatch" viewBox="0 0 20 20" aria-hidden="true">
        <rect width="20" height="20" rx="4" fill="${accent}"></rect>
      </svg>
    `;
}

/** Inside the editor's form, but of a form of its own: `logoForm`. */
function logoFields({ page, request, state }: Editing): Part {
  if (!request.may(setStatusPageLogo)) return null;
  const fault = state.faults.get('logo');
  return html`
    <div class="field" id="logo">
      <label for="field-logo">Logo</label>
      ${
        page.logo !== null &&
        html`
          <p class="sunk logo-now">
            <img
              src="${safeUrl(`/status-pages/${page.id}/logo?v=${page.logo}`)}"
              alt="The logo of ${page.name}"
            >
          </p>
        `
      }
      <div class="row">
        <input
          type="file"
          id="field-logo"
          name="logo"
          form="logo-form"
          accept="image/png,image/jpeg,image/webp"
          required
          aria-describedby="field-logo-help${fault !== undefined && ' field-logo-fault'}"${
            fault !== undefined && html` aria-invalid="true"`
          }
        >
        <button class="button" form="logo-form">Upload</button>
        ${
          page.logo !== null &&
          html`
            <button
              class="button button-quiet"
              form="logo-form"
              formaction="/status-pages/${page.id}/logo/remove"
              formenctype="application/x-www-form-urlencoded"
              formnovalidate
            >
              Delete logo
            </button>
          `
        }
      </div>
      <p class="field-help" id="field-logo-help">
        PNG, JPEG or WebP, up to 100 KB. Shown 40 pixels high.
      </p>
      ${
        fault !== undefined &&
        html`<p class="field-fault" id="field-logo-fault">${icon('down')}${fault}</p>`
      }
    </div>
  `;
}

export function logoForm({ page, request }: Editing): Part {
  return (
    request.may(setStatusPageLogo) &&
    html`
      <form
        id="logo-form"
        method="post"
        action="/status-pages/${page.id}/logo"
        enctype="multipart/form-data"
      ></form>
    `
  );
}

export function accessFold(editing: Editing): Part {
  const { page, request, state, link } = editing;
  if (!request.may(renewStatusPageLink)) return null;
  return fold({
    title: 'Access',
    says: accessWords[state.form.value('access') ?? page.access],
    isSet: true,
    isOpen:
      link !== undefined ||
      (page.access === 'link' && !page.has_link) ||
      isAtFault(state, ['access', 'password']),
    body: html`
      <p class="soft">Feeds, calendar and badges have the same access as the page.</p>
      ${choiceField({
        name: 'access',
        label: 'Visible to',
        state,
        choices: Object.entries(accessWords).map(([value, label]) => ({ value, label })),
      })}
      <div class="password-part">
        ${textField({
          name: 'password',
          label: page.has_password ? 'New password' : 'Password',
          type: 'password',
          autocomplete: 'new-password',
          state,
          required: false,
          comesBack: true,
          help: page.has_password
            ? 'Default: the current password. With a new one, everyone must enter it again.'
            : 'At least 8 characters. Share it with your visitors.',
        })}
      </div>
      ${linkPart(editing)}
    `,
  });
}

function linkPart({ page, link }: Editing): Html | null {
  if (page.access !== 'link') return null;
  if (link !== undefined)
    return html`
      <div class="stack" id="link">
        ${notice(
          'information',
          'Copy this link now: it is shown once',
          'Everyone with the link sees the page. Older links no longer work.',
        )}
        ${copyable(link, 'the link')}
      </div>
    `;
  return html`
    <div class="stack" id="link">
      ${
        page.has_link
          ? html`<p class="soft">There is a link. It cannot be shown again.</p>`
          : notice('verifying', 'No link yet', 'No one sees the page until you create one.')
      }
      <p>
        <button class="button" name="act" value="link" formnovalidate>
          ${icon('share')}${page.has_link ? 'Replace link' : 'Create link'}
        </button>
      </p>
    </div>
  `;
}

export function domainFold({ page, editor, request, state, texts }: Editing): Part {
  if (!request.may(checkStatusPageDomain)) return null;
  const { domain } = page;
  const host = new URL(editor.base_url).host;
  const isAwaited = domain !== null && domain.proved_at === null;
  return fold({
    title: 'Custom domain',
    says:
      domain === null
        ? 'Such as status.example.com'
        : isAwaited
          ? `${domain.name}, not connected yet`
          : domain.name,
    isSet: domain !== null,
    isOpen: isAwaited || texts !== undefined || isAtFault(state, ['domain']),
    body: html`
      ${
        domain?.proved_at &&
        notice(
          'up',
          html`${domain.name} is connected`,
          html`
            Since ${request.times.day(domain.proved_at)}. Keep the DNS record: we check it every
            week, and disconnect the domain after a month without it.
          `,
        )
      }
      ${textField({
        name: 'domain',
        label: 'Domain',
        state,
        autocomplete: 'off',
        inputmode: 'url',
        required: false,
        placeholder: 'status.example.com',
        help:
          domain === null
            ? 'A DNS record proves that it is yours.'
            : 'Empty: disconnect the domain.',
      })}
      ${
        isAwaited &&
        html`
          <div class="stack" id="record">
            <p>Add this record to the DNS of ${domain.name}:</p>
            ${recordTable(domain)}
            ${foundThere(texts)}
            <p>
              <button class="button" name="act" value="check" formnovalidate>
                ${icon('again')}Connect domain
              </button>
            </p>
          </div>
        `
      }
      ${
        domain !== null &&
        html`
          <p class="soft">
            Then point the domain to <code>${host}</code> with a CNAME, and let the proxy there
            answer for it with a certificate.
          </p>
        `
      }
    `,
  });
}

function recordTable({
  record_name,
  record_text,
}: {
  readonly record_name: string;
  readonly record_text: string;
}): Html {
  return html`
    <dl class="facts">
      <dt>Type</dt>
      <dd><code>TXT</code></dd>
      <dt>Name</dt>
      <dd>${copyable(record_name, 'the name of the record')}</dd>
      <dt>Text</dt>
      <dd>${copyable(record_text, 'the text of the record')}</dd>
    </dl>
  `;
}

function foundThere(texts: readonly string[] | undefined): Html | null {
  if (texts === undefined) return null;
  return texts.length === 0
    ? notice(
        'verifying',
        'No such record yet',
        'A new record can take minutes to appear, with some providers hours.',
      )
    : notice(
        'verifying',
        'The record has another text',
        html`Found: ${texts.map((text) => html`<code>${text}</code> `)}`,
      );
}
