import type { OutputOf } from '../../shared/api/operation.ts';
import { capital, listInWords } from '../../shared/base/text.ts';
import { isService } from '../../shared/imports/download.ts';
import {
  isSource,
  isYaml,
  type Source,
  sourceNames,
  sources,
} from '../../shared/imports/sources.ts';
import { chips, heading, linkButton, notice } from '../web/elements.ts';
import { formOf } from '../web/form-data.ts';
import {
  attempt,
  type FormState,
  formSummary,
  freshForm,
  refuseUnlessMay,
  textField,
} from '../web/forms.ts';
import { type Html, html, query } from '../web/html.ts';
import {
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  seeOther,
  show,
} from '../web/page.ts';
import { table } from '../web/tables.ts';
import { applyImport, previewImport, showImport, undoImport } from './contract.ts';

type Import = OutputOf<typeof showImport>;

const trail = [{ href: '/', name: 'Monitors' }];

/** Where from, and a file or a key. */
const importPage = forMembers.get('/import', (request) => {
  refuseUnlessMay(request, previewImport);
  return choose(request, freshForm(formOf({})));
});

const importFile: Page = {
  method: 'POST',
  path: '/import/file',
  needs: 'member',
  takesFile: true,
  answer: async (request) => {
    const bytes = (await request.file('document')) ?? new Uint8Array();
    return preview(request, { document: Buffer.from(bytes).toString('utf8') });
  },
};

const importByKey = forMembers.post('/import/key', (request) => {
  const { form } = request;
  const url = form.value('url')?.trim() || null;
  return preview(request, { key: form.value('key') ?? '', url });
});

const draftPage = forMembers.get('/import/:import_id', async ({ ask, path, ...request }) => {
  const found = await ask(showImport, { import_id: path.import_id });
  return shown(found, request, freshForm(formOf({})));
});

const applyDraft = forMembers.post(
  '/import/:import_id/apply',
  async ({ ask, path, form, ...request }) => {
    const { import_id } = path;
    const values = Object.fromEntries(form.names.map((name) => [name, form.value(name) ?? '']));
    const tried = await attempt(form, () => ask(applyImport, { import_id, values }));
    if ('refused' in tried)
      return shown(await ask(showImport, { import_id }), request, tried.refused);
    return seeOther(`/import/${import_id}`, { said: 'Imported.' });
  },
);

const undoIt = forMembers.post('/import/:import_id/undo', async ({ ask, path: { import_id } }) => {
  await ask(undoImport, { import_id });
  return seeOther(`/import/${import_id}`, { said: 'Import undone.' });
});

export const importPages: readonly Page[] = [
  importPage,
  importFile,
  importByKey,
  draftPage,
  applyDraft,
  undoIt,
];

async function preview(
  request: MembersRequest,
  input: { readonly document?: string; readonly key?: string; readonly url?: string | null },
): Promise<PageAnswer> {
  const { ask, form } = request;
  const source = sourceFrom(request);
  const tried = await attempt(form, () => ask(previewImport, { source, ...input }), [
    'document',
    'key',
    'url',
  ]);
  return 'refused' in tried ? choose(request, tried.refused) : seeOther(`/import/${tried.done.id}`);
}

function sourceFrom({ query: asked }: MembersRequest): Source {
  return isSource(asked.from ?? '')
    ? (sources.find((one) => one === asked.from) ?? sources[0])
    : sources[0];
}

const files: Readonly<Record<Source, { readonly label: string; readonly help: string }>> = {
  'uptime-kuma': {
    label: 'Backup of version 1',
    help: 'The JSON of Settings, Backup. For version 2, or a whole kuma.db, use the command line.',
  },
  uptimerobot: {
    label: 'Export of its dashboard, or answer of getMonitors',
    help: 'CSV that its dashboard exports, or JSON that you downloaded from its API.',
  },
  healthchecks: {
    label: 'Answer of /api/v3/checks/',
    help: 'JSON that you downloaded from its API.',
  },
  'better-stack': {
    label: 'Answer of /api/v2/monitors',
    help: 'JSON that you downloaded from its API.',
  },
  gatus: { label: 'config.yaml', help: 'One file; the command line takes several.' },
  blackbox: {
    label: 'prometheus.yml, or a list of targets',
    help: 'Modules have their usual meaning; the command line takes blackbox.yml beside.',
  },
};

function choose(request: MembersRequest, state: FormState): PageAnswer {
  const source = sourceFrom(request);
  return show({
    title: 'Import',
    place: 'monitors',
    status: state.status,
    main: html`
      ${heading({
        sentence: 'Import monitors',
        below: html`
          Preview first. Undo for one hour. <a href="/docs/moving-in">How to move in</a>
        `,
        trail,
      })}
      ${chips(
        'Source',
        sources.map((one) => ({
          href: `/import${query({ from: one })}`,
          label: sourceNames[one],
          current: one === source,
        })),
      )}
      ${formSummary(state)}
      ${isService(source) && keyForm(source, state)}
      ${fileForm(source, state)}
      <p class="soft">
        On the command line <code>antipode import ${source}</code> writes a file that you can change
        first; then <code>antipode plan</code> shows it and <code>antipode apply</code> creates it.
      </p>
    `,
  });
}

function keyForm(source: Source, state: FormState): Html {
  return html`
  <form
    class="form card"
    method="post"
    action="/import/key${query({ from: source })}"
  >
    ${textField({
      name: 'key',
      label: source === 'better-stack' ? 'API token' : 'API key',
      type: 'password',
      required: true,
      autocomplete: 'off',
      help: 'Used once to read your monitors, and never stored.',
      state,
    })}
    ${
      source === 'healthchecks' &&
      textField({
        name: 'url',
        label: 'Address',
        type: 'url',
        required: false,
        autocomplete: 'off',
        placeholder: 'https://healthchecks.io',
        help: 'Of an installation of your own, if it can be reached from here.',
        state,
      })
    }
    <div class="actions"><button class="button button-main">Preview</button></div>
  </form>
`;
}

function fileForm(source: Source, state: FormState): Html {
  const { label, help } = files[source];
  const fault = state.faults.get('document');
  return html`
    <form
      class="form card"
      method="post"
      action="/import/file${query({ from: source })}"
      enctype="multipart/form-data"
    >
      <div class="field">
        <label for="field-document">${label}</label>
        <input
          type="file"
          id="field-document"
          name="document"
          accept="${isYaml(source) ? '.yaml,.yml,.json' : source === 'uptimerobot' ? '.csv,.json' : '.json'}"
          required
          aria-describedby="field-document-help${fault !== undefined && ' field-document-fault'}"${
            fault !== undefined && html` aria-invalid="true"`
          }
        >
        <p class="field-help" id="field-document-help">${help} Up to 2 MiB.</p>
        ${fault !== undefined && html`<p class="field-fault" id="field-document-fault">${fault}</p>`}
      </div>
      <div class="actions">
        <button class="button${!isService(source) && ' button-main'}">Preview</button>
      </div>
    </form>
  `;
}

const kindNames: Readonly<Record<string, readonly [one: string, many: string]>> = {
  groups: ['group', 'groups'],
  monitors: ['monitor', 'monitors'],
  channels: ['channel', 'channels'],
  maintenance: ['maintenance window', 'maintenance windows'],
  objectives: ['objective', 'objectives'],
  status_pages: ['status page', 'status pages'],
};

function shown(
  found: Import,
  { times }: Pick<MembersRequest, 'times'>,
  state: FormState,
): PageAnswer {
  const { source, state: is, objects, undo_until } = found;
  const name = sourceNames[source];
  const count = countWords(objects);
  const sentences = {
    draft: `Import from ${name}`,
    applied: `Imported from ${name}`,
    undone: `Import from ${name} undone`,
  };
  const below = {
    draft:
      count === ''
        ? 'Nothing of it can be created.'
        : `${capital(count)} will be created or changed.`,
    applied: `${count}.`,
    undone: 'What it created is deleted. Monitors stay in the trash for 7 days.',
  };
  return show({
    title: sentences[is],
    place: 'monitors',
    status: state.status,
    main: html`
      ${heading({
        sentence: sentences[is],
        below: below[is],
        trail: [...trail, { href: '/import', name: 'Import' }],
      })}
      ${formSummary(state)}
      ${
        undo_until !== null &&
        html`
          <form class="card stack" method="post" action="/import/${found.id}/undo">
            <p>
              You can undo it until ${times.moment(undo_until)}. That deletes what the import created,
              and nothing else.
            </p>
            <div class="actions">
              ${linkButton('/', 'Show monitors', { main: true })}
              <button class="button button-danger">Undo import</button>
            </div>
          </form>
        `
      }
      ${objects.length > 0 && is !== 'undone' && objectTable(found)}
      ${leftOut(found)}
      ${is === 'draft' && count !== '' && applyForm(found, state)}
    `,
  });
}

function countWords(objects: Import['objects']): string {
  const counts = Object.entries(kindNames)
    .map(([kind, words]) => [objects.filter((one) => one.kind === kind).length, words] as const)
    .filter(([count]) => count > 0)
    .map(([count, [one, many]]) => `${count} ${count === 1 ? one : many}`);
  return listInWords(counts);
}

function applyForm({ id, variables }: Import, state: FormState): Html {
  return html`
  ${
    variables.length > 0 &&
    notice(
      'information',
      'Secrets are not imported',
      'Channels without their secret are skipped; monitors are checked without it.',
    )
  }
  <form class="form card stack" method="post" action="/import/${id}/apply">
    ${variables.map(({ name, meaning }) =>
      textField({
        name,
        label: capital(meaning),
        type: 'password',
        required: false,
        autocomplete: 'off',
        state,
      }),
    )}
    <div class="actions">
      <button class="button button-main">Import</button>
      ${linkButton('/import', 'Cancel')}
      <span class="soft">You can undo it for one hour.</span>
    </div>
  </form>
`;
}

function objectTable({ objects, omissions }: Import): Html {
  const changed = objects.some(({ name }) => omissions.some(({ of }) => of.includes(name)));
  return html`
    <section>
      <h2>What is imported</h2>
      ${table(
        objects.map(({ kind, name }) => ({
          Name: html`<b>${name}</b>`,
          Kind: capital(kindNames[kind]?.[0] ?? kind),
          ...(changed && {
            Difference:
              omissions
                .filter(({ of }) => of.includes(name))
                .map(({ why }) => capital(why))
                .join(' ') || '–',
          }),
        })),
      )}
    </section>
  `;
}

/** What no object stands for. */
function leftOut({ objects, omissions }: Import): Html | false {
  const names = objects.map(({ name }) => name);
  const rest = omissions.filter(({ of }) => !of.some((each) => names.includes(each)));
  return (
    rest.length > 0 &&
    html`
      <section>
        <h2>What is left out</h2>
        ${table(
          rest.map(({ why, of }) => ({
            Name: html`<b>${of.join(', ') || '–'}</b>`,
            Reason: capital(why),
          })),
        )}
      </section>
    `
  );
}
