import { configKeys, isKind, kinds, unknownConfigKeys } from '../../api/config-keys.ts';
import {
  type FileKind,
  fileKinds,
  isFileKey,
  isFileName,
  keyWords,
  objectFaults,
} from '../../api/files.ts';
import { isSecretName } from '../../api/operation.ts';
import { isRecord } from '../../base/json.ts';
import { listInWords, nearest } from '../../base/text.ts';
import { type FileFault, type Path, readDocument, type Source } from '../../imports/document.ts';
import {
  expandObjects,
  fillIn,
  isFromOutside,
  type Note,
  type Outside,
  type Raw,
} from './expand.ts';

/** One configuration, from all the files that it stands in. */
export type Configuration = {
  readonly name: string;
  readonly objects: Readonly<Record<FileKind, Readonly<Record<string, Raw>>>>;
  readonly faults: readonly FileFault[];
  readonly warnings: readonly FileFault[];
  /** Where an object stands, for what the service says of it. */
  readonly placeOf: (kind: string, key: string, path?: Path) => string;
};

const topLevel = ['name', 'defaults', ...fileKinds];

type NamedText = { readonly file: string; readonly text: string };

/** Reads all of them, and finds every fault of all. Without `outside` variables stay as they are. */
export function readConfiguration(
  texts: readonly NamedText[],
  outside: Outside | undefined,
): Configuration {
  const faults: FileFault[] = [];
  const warnings: FileFault[] = [];
  const origins = new Map<string, { readonly source: Source; readonly path: Path }>();
  const objects: Record<FileKind, Record<string, Raw>> = {
    groups: {},
    monitors: {},
    channels: {},
    maintenance: {},
    objectives: {},
    status_pages: {},
  };
  const sources = texts.map(({ file, text }) => readDocument(file, text));
  const noteIn =
    (source: Source, into: FileFault[]): Note =>
    (path, message) => {
      into.push({ ...source.placeOf(path), file: source.file, path, message });
    };
  const roots = sources.flatMap((source) => {
    faults.push(...source.faults);
    if (source.faults.length > 0) return [];
    const note = noteIn(source, faults);
    const root = source.value ?? {};
    if (!isRecord(root)) {
      note([], `must have ${listInWords(topLevel)}, each with what belongs to it.`);
      return [];
    }
    for (const key of Object.keys(root).filter((one) => !topLevel.includes(one) && !isAside(one))) {
      const meant = nearest(key, topLevel);
      note(
        [key],
        `there is no "${key}"${meant === undefined ? '' : `; did you mean "${meant}"?`} There are ${listInWords(topLevel)}, and x-… for your own.`,
      );
    }
    return [{ source, root, note }];
  });
  const defaults = new Map<FileKind, Raw>();
  for (const { root, note } of roots)
    for (const [kind, given] of Object.entries(recordAt(root, 'defaults', note))) {
      const known = fileKinds.find((each) => each === kind);
      if (known === undefined) note(['defaults', kind], `there is no "${kind}".`);
      else if (isRecord(given)) defaults.set(known, { ...defaults.get(known), ...given });
    }
  for (const { source, root, note } of roots)
    for (const kind of fileKinds)
      for (const { key, object, path } of expandObjects(
        recordAt(root, kind, note),
        defaults.get(kind) ?? {},
        [kind],
        note,
      )) {
        const name = `${kind} ${key}`;
        const other = origins.get(name);
        if (other !== undefined) {
          const { line } = other.source.placeOf(other.path);
          note(path, `${other.source.file}:${line} has "${key}" already.`);
          continue;
        }
        origins.set(name, { source, path });
        const inObject: Note = (inside, message) => note(inside, message);
        const full = fillIn(object, path, outside, inObject);
        if (!isRecord(full)) continue;
        objects[kind][key] = full;
        judge(
          kind,
          key,
          { raw: object, full, path },
          {
            fault: inObject,
            warning: noteIn(source, warnings),
          },
        );
      }
  const names = new Map(
    roots.flatMap(({ source, root }) => (root.name === undefined ? [] : [[root.name, source]])),
  );
  const [name] = names.keys();
  const [first] = roots;
  if (first && names.size !== 1)
    first.note(
      ['name'],
      names.size === 0
        ? 'the file needs a name: small letters, digits and dashes, as in `name: shop`.'
        : 'all files of one configuration have the same name.',
    );
  else if (first && (typeof name !== 'string' || !isFileName(name)))
    first.note(['name'], 'use small letters and digits, with dashes between them, up to 60.');
  return {
    name: String(name),
    objects,
    faults: faults.toSorted(byPlace),
    warnings: warnings.toSorted(byPlace),
    placeOf: (kind, key, inside = []) => {
      const origin = origins.get(`${kind} ${key}`);
      if (origin === undefined) return '';
      const { line, column } = origin.source.placeOf([...origin.path, ...inside]);
      return `${origin.source.file}:${line}:${column}`;
    },
  };
}

/** Parts that are nothing by themselves, for anchors. */
function isAside(key: string): boolean {
  return key.startsWith('x-');
}

function byPlace(a: FileFault, b: FileFault): number {
  return a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1;
}

function recordAt(root: Raw, key: string, note: Note): Raw {
  const value = root[key] ?? {};
  if (isRecord(value)) return value;
  note([key], 'must hold what belongs to it by keys.');
  return {};
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: it is what to write.
const openSecret = 'a secret stands in no file: write it as ${NAME} or file:PATH.';

type Judged = {
  /** Before variables were filled in. */
  readonly raw: Raw;
  readonly full: Raw;
  readonly path: Path;
};

function judge(
  kind: FileKind,
  key: string,
  { raw, full, path }: Judged,
  { fault, warning }: { readonly fault: Note; readonly warning: Note },
): void {
  if (!isFileKey(key)) fault(path, `"${key}" is no key: ${keyWords}.`);
  for (const { loc, msg } of objectFaults(kind, full, path)) fault(loc, sentence(msg));
  for (const place of secretsIn(kind, raw)) {
    const value = place.reduce<unknown>(
      (inside, part) => (isRecord(inside) ? inside[part] : undefined),
      raw,
    );
    if (typeof value === 'string' && value !== '***' && !isFromOutside(value))
      fault([...path, ...place], openSecret);
  }
  const { type, config } = full;
  if (kind !== 'monitors' || typeof type !== 'string') return;
  if (!isKind(type)) {
    const meant = nearest(type, kinds);
    fault(
      [...path, 'type'],
      `there is no type "${type}"${meant === undefined ? '.' : `; did you mean "${meant}"?`}`,
    );
    return;
  }
  if (!isRecord(config)) return;
  for (const { key: one, sentence } of unknownConfigKeys(type, config))
    warning([...path, 'config', one], sentence);
  const known: Readonly<Record<string, { readonly choices?: readonly string[] }>> =
    configKeys[type];
  for (const [one, value] of Object.entries(config)) {
    const choices = known[one]?.choices ?? [];
    if (
      typeof value === 'string' &&
      choices.length > 0 &&
      !choices.includes(value) &&
      !isFromOutside(value)
    )
      fault([...path, 'config', one], `must be one of ${choices.join(', ')}.`);
  }
}

/** As of the API, which marks faults of values so. */
function sentence(message: string): string {
  const text = message.replace(/^Value error, /, '');
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** Where an object has secrets, as far as names tell; the service knows more, and encrypts it. */
function secretsIn(kind: FileKind, raw: Raw): readonly (readonly string[])[] {
  if (kind === 'status_pages') return [['password']];
  if (kind !== 'monitors' && kind !== 'channels') return [];
  const named = (value: unknown, path: readonly string[]): (readonly string[])[] =>
    isRecord(value)
      ? Object.entries(value).flatMap(([name, inside]) =>
          typeof inside === 'string' && (isSecretName(name) || name === 'client_certificate')
            ? [[...path, name]]
            : named(inside, [...path, name]),
        )
      : [];
  return named(raw.config, ['config']);
}
