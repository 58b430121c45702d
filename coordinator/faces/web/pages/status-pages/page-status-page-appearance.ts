import { setStatusPageLogo } from '../../../../../shared/api/inner/inner-status-pages.ts';
import { updateStatusPage } from '../../../../../shared/api/status-pages.ts';
import { formOf, noForm } from '../../web-form-data.ts';
import { checkField, selectField, textArea, textField } from '../../web-forms.ts';
import { type Html, html, safeUrl } from '../../web-html.ts';
import { icon } from '../../web-icons.ts';
import { card, type Editing, languageNames, stateOf, summaryOf } from './page-status-page-parts.ts';

/** How it looks: its words, its colour, its logo. */

export const settingNames = ['name', 'slug', 'description', 'language', 'accent', 'enabled'] as const;

const swatch = (accent: string | null): Html | null =>
  accent === null
    ? null
    : html`<svg class="accent-swatch" viewBox="0 0 20 20" aria-hidden="true"><rect width="20" height="20" rx="4" fill="${accent}"></rect></svg>`;

const languages = Object.entries(languageNames).map(([value, label]) => ({ value, label }));

export const lookCard = (editing: Editing): Html | null => {
  const { page, request } = editing;
  if (!request.may(updateStatusPage)) return null;
  const { name, slug, description, language, accent, enabled } = page;
  const state = stateOf(editing, 'settings', formOf({ name, slug, description, language, accent, enabled: String(enabled) }));
  return card(
    'look',
    'How it looks',
    null,
    html`${summaryOf(editing, 'settings')}<form class="form" method="post" action="/status-pages/${page.id}/settings">
${textField({ name: 'name', label: 'Name', state, required: true, autocomplete: 'off' })}
${textArea({ name: 'description', label: 'What it is about', state, rows: 2, required: false, help: 'Shown below the name.' })}
${textField({ name: 'slug', label: 'Address', state, required: true, autocomplete: 'off', help: html`${editing.editor.base_url}/status/… Links to the old address lead nowhere once it is changed.` })}
${selectField({ name: 'language', label: 'Language', state, choices: languages, help: 'Of the words that the page itself says, and of the usual words of a post.' })}
<div class="accent-field">${swatch(accent)}${textField({ name: 'accent', label: 'Accent colour', state, required: false, autocomplete: 'off', placeholder: '#0a5bb5', help: 'For links and the line at the top; dark enough to be read on white. In the dark it is made lighter by itself.' })}</div>
${checkField({ name: 'enabled', label: 'Published', state, help: 'Switched off, it answers as if it did not exist.' })}
<div class="actions"><button class="button button-main">Save how it looks</button></div></form>`,
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
    html`${summaryOf(editing, 'logo')}${
      page.logo !== null &&
      html`<p class="logo-now"><img src="${safeUrl(`/status-pages/${page.id}/logo?v=${page.logo}`)}" alt="The logo of ${page.name}"></p>`
    }<form class="form" method="post" action="/status-pages/${page.id}/logo" enctype="multipart/form-data"><div class="field"><label for="field-logo">${page.logo === null ? 'A picture' : 'Another picture'}</label><input type="file" id="field-logo" name="logo" accept="image/png,image/jpeg,image/webp" required aria-describedby="field-logo-help${fault !== undefined && ' field-logo-fault'}"${fault !== undefined && html` aria-invalid="true"`}><p class="field-help" id="field-logo-help">PNG, JPEG or WebP of at most 100 KB. It is shown 40 pixels high.</p>${fault !== undefined && html`<p class="field-fault" id="field-logo-fault">${icon('down')}${fault}</p>`}</div><div class="actions"><button class="button">Show this logo</button></div></form>${
      page.logo !== null &&
      html`<form method="post" action="/status-pages/${page.id}/logo/remove"><button class="button button-quiet">${icon('delete')}Take the logo away</button></form>`
    }`,
  );
};
