import { InvalidInput, statusOf } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Caller } from '../gate/caller.ts';
import { type AccessRule, refuseWhileEnding } from '../gate/roles.ts';
import type { Form } from './form-data.ts';
import { type Html, html, icon, type Part } from './html.ts';

/**
 * For a form whose operation this reader may not run: refuses before anything is filled in. @throws
 * Refusal.
 */
export function refuseUnlessMay(
  { may, caller }: { readonly may: (asked: AccessRule) => boolean; readonly caller: Caller },
  operation: AccessRule,
): undefined {
  if (may(operation)) return;
  refuseWhileEnding(caller.organisation, operation);
  throw new Refusal(
    'role_insufficient',
    `You are a ${caller.role} of ${caller.organisation.name}, so you can only read. Ask a member to do it, or an owner for another role.`,
  );
}

/**
 * A name as people see and type it: invisible blanks and different encodings of one letter do not
 * count.
 */
export function typed(name: string): string {
  return name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
}

/** A form as it is shown: the values of its fields, and the gate's refusals. */
export type FormState = {
  readonly form: Form;
  /** Field name → fault. */
  readonly faults: ReadonlyMap<string, string>;
  /** Faults of the whole form. */
  readonly objections: readonly string[];
  readonly status: number;
};

export function freshForm(form: Form): FormState {
  return {
    form,
    faults: new Map(),
    objections: [],
    status: 200,
  };
}

/** Where and how the faults of one form are shown. */
type Shown = {
  readonly fields?: readonly string[];
  /** Fields whose faults are shown at another. */
  readonly beside?: Readonly<Record<string, string>>;
  /** In the words of the form. */
  readonly inWords?: (text: string) => string;
};

/**
 * The same form with the values sent, and with the refusals beside its fields. @throws anything
 * that is neither a refusal nor a fault of the input.
 */
export function refusedForm(
  form: Form,
  error: unknown,
  { fields = form.names, beside = {}, inWords = (text) => text }: Shown = {},
): FormState {
  const isField = (name: string): boolean => fields.includes(name) || fields.includes(`${name}[]`);
  const faults = new Map<string, string>();
  const objections: string[] = [];
  const show = (key: string, text: string, whole: string): void => {
    const name = fieldOf(key, isField);
    if (name === undefined) objections.push(sentence(inWords(whole)));
    else faults.set(beside[name] ?? name, sentence(inWords(text)));
  };
  if (error instanceof InvalidInput) {
    for (const { loc, msg } of error.faults) {
      const name = loc.slice(1).join('.');
      show(name, msg, name === '' ? msg : `${name}: ${msg}`);
    }
    return { form, faults, objections, status: 400 };
  }
  if (
    !(error instanceof Refusal) ||
    ['internal', 'unauthenticated', 'unavailable'].includes(error.kind) ||
    isOfSession(error)
  )
    throw error;
  const remedies = Object.entries(error.remedies);
  for (const [field, remedy] of remedies) show(field, remedy, `${field}: ${remedy}`);
  if (remedies.length === 0) objections.push(sentence(inWords(error.message)));
  return { form, faults, objections, status: statusOf[error.kind] };
}

/** The field of a key, or of what contains it: `json[0].path` belongs to `config.json`. */
function fieldOf(key: string, isField: (name: string) => boolean): string | undefined {
  for (let at = key; at !== ''; at = at.replace(/(?:^|\.|\[)[^.[]*$/, '')) {
    const name = [at, `config.${at}`].find(isField);
    if (name !== undefined) return name;
  }
  return undefined;
}

/** As a sentence, without the field's name: the reader sees the field. */
function sentence(text: string): string {
  const plain = text.replace(/^Value error, /, '').trim();
  const first = plain.charAt(0).toUpperCase() + plain.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}

/** Not about the form: the whole page redirects first. */
function isOfSession({ code }: Refusal): boolean {
  return code === 'proof_needed' || code === 'session_missing';
}

/** Runs what a form asks for. A refusal is expected: it returns the form to show again. */
export async function attempt<T>(
  form: Form,
  act: () => Promise<T>,
  fields: readonly string[] = form.names,
): Promise<{ readonly done: T } | { readonly refused: FormState }> {
  try {
    return { done: await act() };
  } catch (error) {
    return { refused: refusedForm(form, error, { fields }) };
  }
}

/**
 * The id of one box of a field: when a page replaces another, boxes are paired by it, wherever they
 * are in their list.
 */
export function boxId(name: string, value: string): string {
  return idOf(`${name} ${value}`);
}

function idOf(name: string): string {
  return `field-${name.replaceAll(/[^a-zA-Z0-9]+/g, '-')}`;
}

/**
 * The refusals, in words at the top; the summary gets the focus, so that it is read out and seen.
 * `id`: the fragment to which the form is posted, if any: browsers focus what it names, and nothing
 * else.
 */
export function formSummary({ faults, objections }: FormState, id = 'form-summary'): Html | null {
  if (faults.size + objections.length === 0) return null;
  const [first] = faults.keys();
  return html`
    <div class="notice notice-down" role="alert" tabindex="-1" autofocus id="${id}">
      ${icon('down')}
      <div>
        <p class="notice-title">
          ${
            first === undefined || objections.length > 0
              ? 'Please fix the following:'
              : html`<a href="#${idOf(first)}">Please fix what is marked below.</a>`
          }
        </p>
        <ul>
          ${objections.map((each) => html`<li>${each}</li>`)}
          ${[...faults].map(
            ([name, words]) => html`<li><a href="#${idOf(name)}">${words}</a></li>`,
          )}
        </ul>
      </div>
    </div>
  `;
}

type FieldParts = {
  readonly name: string;
  readonly label: string;
  readonly state: FormState;
  /** A sentence below the field. */
  readonly help?: Part;
  readonly required?: boolean;
};

export type TextField = FieldParts & {
  readonly type?:
    | 'text'
    | 'email'
    | 'password'
    | 'url'
    | 'tel'
    | 'number'
    | 'search'
    | 'date'
    | 'time'
    | 'datetime-local';
  readonly autocomplete?: string;
  readonly placeholder?: string;
  /** The id of a `datalist` to choose from. */
  readonly list?: string;
  readonly autofocus?: boolean;
  readonly inputmode?: 'numeric' | 'url' | 'email';
  /** Shown after the field: `s`, `ms`, `%`. */
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  /** A password in a form that is shown again before anything is saved: it keeps what was typed. */
  readonly comesBack?: boolean;
  /** The pattern of the whole value, as HTML reads it; `title` says it in words. */
  readonly pattern?: string;
  readonly title?: string;
};

export function textField(field: TextField): Html {
  const { name, label, state, type = 'text', unit, required } = field;
  const { id, marks, below } = described(field);
  // A password is never sent back, except in a form that waits to be saved.
  const value = type === 'password' && !field.comesBack ? '' : (state.form.value(name) ?? '');
  const input = html`
    <input
      id="${id}"
      name="${name}"
      type="${type}"
      value="${value}"${marks}${
        field.autocomplete !== undefined && html` autocomplete="${field.autocomplete}"`
      }${field.placeholder !== undefined && html` placeholder="${field.placeholder}"`}${
        field.list !== undefined && html` list="${field.list}"`
      }${
        field.inputmode && html` inputmode="${field.inputmode}"`
      }${field.min !== undefined && html` min="${field.min}"`}${
        field.pattern !== undefined &&
        html` pattern="${field.pattern}" title="${field.title ?? ''}"`
      }${field.max !== undefined && html` max="${field.max}"`}${
        field.autofocus && state.faults.size + state.objections.length === 0 && html` autofocus`
      }
    >
  `;
  return html`
    <div class="field">
      ${labelled(label, id, required)}
      ${
        unit === undefined
          ? input
          : html`
            <div class="row tight">${input}<span class="field-unit">${unit}</span></div>
          `
      }
      ${below}
    </div>
  `;
}

type Described = { readonly id: string; readonly marks: Html; readonly below: Part };

/** Connects a field with its help and its fault. */
function described({ name, state, help, required }: Omit<FieldParts, 'label'>): Described {
  const id = idOf(name);
  const fault = state.faults.get(name.replace(/\[\]$/, ''));
  const by = [help ? `${id}-help` : '', fault === undefined ? '' : `${id}-fault`]
    .filter((each) => each !== '')
    .join(' ');
  return {
    id,
    marks: html`
      ${required && html` required`}
      ${fault !== undefined && html` aria-invalid="true"`}
      ${by !== '' && html` aria-describedby="${by}"`}
    `,
    below: html`
      ${help && html`<p class="field-help" id="${id}-help">${help}</p>`}
      ${
        fault !== undefined &&
        html`<p class="field-fault" id="${id}-fault">${icon('down')}${fault}</p>`
      }
    `,
  };
}

function labelled(label: string, id: string, required: boolean | undefined): Html {
  return html`
    <label for="${id}">
      ${label}
      ${required === false && html` <span class="softer">optional</span>`}
    </label>
  `;
}

export function textArea(
  field: FieldParts & {
    readonly rows?: number;
    readonly code?: boolean;
    readonly placeholder?: string;
  },
): Html {
  const { name, label, state, rows = 4, required } = field;
  const { id, marks, below } = described(field);
  // The parser drops a line break at the beginning.
  return html`
    <div class="field">
      ${labelled(label, id, required)}
      <textarea
        id="${id}"
        name="${name}"
        rows="${rows}"${field.code && html` class="code"`}${
          field.placeholder !== undefined && html` placeholder="${field.placeholder}"`
        }${marks}
      >${'\n'}${state.form.value(name) ?? ''}</textarea>
      ${below}
    </div>
  `;
}

export type Choice = {
  readonly value: string;
  readonly label: string;
  readonly help?: Part;
  readonly disabled?: boolean;
  /** Choices of one kind stand together, under its name. */
  readonly group?: string;
  /** What finds it besides its label, where the choices can be filtered. */
  readonly words?: string;
};

/** With more choices than these, scripts offer a filter. */
const manyChoices = 12;

/** `isOwnZone`: a script chooses the zone of the browser. */
export function selectField(
  field: FieldParts & { readonly choices: readonly Choice[]; readonly isOwnZone?: boolean },
): Html {
  const { name, label, state, choices, required, isOwnZone } = field;
  const { id, marks, below } = described(field);
  const chosen = state.form.value(name);
  return html`
    <div class="field">
      ${labelled(label, id, required)}
      <select id="${id}" name="${name}"${marks}${isOwnZone && html` data-own-zone`}>
        ${choices.map((each) => option(each, each.value === chosen))}
      </select>
      ${below}
    </div>
  `;
}

/** An option's value is its text: hundreds of time zones need not say it twice. */
function option({ value, label, disabled }: Choice, isChosen: boolean): Html {
  if (value === label && !disabled)
    return isChosen ? html`<option selected>${label}</option>` : html`<option>${label}</option>`;
  return html`
    <option value="${value}"${isChosen && html` selected`}${disabled && html` disabled`}>
      ${label}
    </option>
  `;
}

/** Selects of a filter, each with what the address asks for. */
export function filterSelects(asked: Readonly<Record<string, string | undefined>>) {
  return (
    name: string,
    label: string,
    all: string,
    choices: readonly (readonly [value: string, label: string])[],
  ): Html => html`
    <label>
      <span>${label}</span>
      <select name="${name}">
        <option value="">${all}</option>
        ${choices.map(
          ([value, words]) =>
            html`<option value="${value}"${asked[name] === value && html` selected`}>${words}</option>`,
        )}
      </select>
    </label>
  `;
}

/** Several of a few (`several`, with a name that ends in `[]`), or one of a few. */
export function choiceField(
  field: FieldParts & {
    readonly choices: readonly Choice[];
    readonly several?: boolean;
    /** A list of things to choose from; what the filter says that it looks at if there are many. */
    readonly filter?: string;
  },
): Html {
  const { name, label, state, choices, several = false, filter } = field;
  const isFiltered = filter !== undefined && choices.length > manyChoices;
  const chosen = state.form.values(name);
  const count = choices.filter(({ value }) => chosen.includes(value)).length;
  const box = (each: Choice): Html =>
    html`
      <label
        class="choice"${
          isFiltered &&
          each.words !== undefined &&
          each.words !== '' &&
          html` data-words="${each.words}"`
        }
      >
        <input
          type="${several ? 'checkbox' : 'radio'}"
          id="${boxId(name, each.value)}"
          name="${name}"
          value="${each.value}"${chosen.includes(each.value) && html` checked`}${
            each.disabled && html` disabled`
          }
        >
        <span>
          ${each.label}
          ${each.help && html`<span class="field-help">${each.help}</span>`}
        </span>
      </label>
    `;
  return fieldGroup({
    ...field,
    isPicker: filter !== undefined,
    label: html`
      ${label}
      ${
        filter !== undefined &&
        html`
          ${' '}<span class="softer" data-scripts data-chosen>${count} of ${choices.length} selected</span>
        `
      }
    `,
    inside: html`
      ${
        isFiltered &&
        // Of no form: it is not sent, and Enter in it saves nothing.
        html`
          <input
            type="search"
            form=""
            aria-label="Filter"
            placeholder="${filter}"
            autocomplete="off"
            data-filter
          >
        `
      }
      ${[...Map.groupBy(choices, ({ group = '' }) => group)].map(([group, each]) =>
        group === '' ? each.map(box) : grouped(group, each.map(box)),
      )}
    `,
  });
}

function grouped(group: string, boxes: readonly Html[]): Html {
  return html`
    <div role="group" aria-label="${group}">
      <p class="note" aria-hidden="true">${group}</p>
      ${boxes}
    </div>
  `;
}

/** Several fields that belong together. `isPicker`: a list of things to choose from. */
export function fieldGroup(
  field: Omit<FieldParts, 'label'> & {
    readonly label: Part;
    readonly inside: Part;
    readonly isPicker?: boolean;
  },
): Html {
  const { id, marks, below } = described(field);
  return html`
    <fieldset class="field${field.isPicker && ' picker'}" id="${id}"${marks}>
      <legend>${field.label}</legend>
      <div class="field-body">${field.inside}</div>
      ${below}
    </fieldset>
  `;
}

/** Beside the fields of a form: what is read, or copied, and not changed. */
export function shownField(label: string, inside: Part): Html {
  return html`<div class="field"><span class="field-label">${label}</span>${inside}</div>`;
}

/** One yes or no; nothing is sent for a no. */
export function checkField(field: FieldParts & { readonly value?: string }): Html {
  const { name, label, state, value = 'true' } = field;
  const { id, marks, below } = described(field);
  return html`
    <div class="field">
      <label class="choice">
        <input
          type="checkbox"
          id="${id}"
          name="${name}"
          value="${value}"${state.form.value(name) === value && html` checked`}${marks}
        >
        <span>${label}</span>
      </label>
      ${below}
    </div>
  `;
}

/**
 * What Enter in a field does, also without scripts: the browser uses the first button of the form,
 * which would otherwise be any button above the last one. Among several equal actions, Enter means
 * `none`: outside a dialog that method does nothing, while browsers skip a disabled button.
 */
export function enterButton(act: { readonly name: string; readonly value: string } | 'none'): Html {
  return html`
    <button
      class="unseen"${
        act === 'none'
          ? html` formmethod="dialog"`
          : html`${' '}name="${act.name}" value="${act.value}"`
      }
      tabindex="-1"
      aria-hidden="true"
    ></button>
  `;
}

export const enterSaves = enterButton({ name: 'act', value: 'save' });

export function hiddenField(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}
