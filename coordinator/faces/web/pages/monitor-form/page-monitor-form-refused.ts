import type { Kind } from '../../../../../shared/api/config-keys.ts';
import { statusOf } from '../../../../../shared/api/operation.ts';
import { Refusal } from '../../../../../shared/base/errors.ts';
import type { Form } from '../../web-form-data.ts';
import { type FormState, refusedForm } from '../../web-forms.ts';
import { nameOf, otherName } from './page-monitor-form-config.ts';
import { settingsOf } from './page-monitor-form-settings.ts';

const ownFields = ['type', 'target', 'name', 'interval_s', 'group', 'tags'];

const fieldNames = (kind: Kind): readonly string[] => [
  ...ownFields,
  ...settingsOf(kind).map((setting) => nameOf(setting)),
  ...['config.basic_auth.username', 'config.basic_auth.password', otherName],
];

type Fault = { readonly keys: readonly string[]; readonly remedy: string };

/** The sentence of a refused config, taken apart again: a list of keys, each with what would do. */
const faultsIn = (message: string): readonly Fault[] =>
  message.split(/; (?=`[^`]+`(?:, `[^`]+`)* cannot be used: )/).flatMap((part): Fault[] => {
    const [, keys, remedy] = /^(`[^`]+`(?:, `[^`]+`)*) cannot be used: ([\s\S]*)$/.exec(part) ?? [];
    return keys === undefined || remedy === undefined ? [] : [{ keys: keys.split(', ').map((key) => key.replaceAll('`', '')), remedy }];
  });

/** The field for a key, or for what it is a part of: `json[0].path` is a part of `json`. */
const fieldFor = (key: string, fields: readonly string[]): string | undefined => {
  for (let at = key; at !== ''; at = at.replace(/(?:^|\.|\[)[^.[]*$/, '')) if (fields.includes(`config.${at}`)) return `config.${at}`;
  return undefined;
};

/** A password of its own field stands for the pair. */
const shownAt = (name: string): string => (name === 'config.basic_auth' ? 'config.basic_auth.username' : name);

/** Keys by the names that stand beside their fields. */
const inWords = (remedy: string, kind: Kind): string => {
  const words = remedy.replaceAll(/`([a-z_]+)`/g, (_, key: string) => {
    const setting = settingsOf(kind).find((each) => each.key === key);
    return setting ? `“${setting.label}”` : key;
  });
  const sentence = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
};

/** The form again, with what the gate said beside the fields; a refused config names several of them at once. */
export const refusedMonitorForm = (form: Form, error: unknown, kind: Kind): FormState => {
  const fields = fieldNames(kind);
  if (error instanceof Refusal && error.code === 'group_not_found')
    return { form, faults: new Map([['group', 'This group is not there any more; choose another.']]), objections: [], status: 400 };
  const found = error instanceof Refusal && error.code === 'config_invalid' ? faultsIn(error.message) : [];
  if (!(error instanceof Refusal) || found.length === 0) return refusedForm(form, error, fields);
  const faults = new Map<string, string>();
  const objections: string[] = [];
  for (const { keys, remedy } of found)
    for (const key of keys) {
      const name = fieldFor(key, fields);
      if (name === undefined) objections.push(`${key}: ${inWords(remedy, kind)}`);
      else faults.set(shownAt(name), inWords(remedy, kind));
    }
  return { form, faults, objections, status: statusOf[error.kind] };
};
