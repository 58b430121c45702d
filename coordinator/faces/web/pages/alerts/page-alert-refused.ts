import { statusOf } from '../../../../../shared/api/operation.ts';
import { Refusal } from '../../../../../shared/base/errors.ts';
import type { Kind } from '../../parts/part-channels.ts';
import type { Form } from '../../web-form-data.ts';
import { type FormState, refusedForm } from '../../web-forms.ts';

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;

const common = ['name', 'covers', 'monitors[]', 'groups[]', 'delay_s', 'reminder_s', 'hours', 'hours.zone', 'personal'];

/** A config is refused with all its faults at once: each goes to its field. @throws what is no fault of the form. */
export const refusedChannelForm = (form: Form, error: unknown, { fields }: Kind): FormState => {
  const names = [...common, ...fields.map(({ name }) => `config.${name}`)];
  if (error instanceof Refusal && error.code === 'time_zone_invalid')
    return { form, faults: new Map([['hours.zone', sentence(error.message)]]), objections: [], status: statusOf[error.kind] };
  if (!(error instanceof Refusal) || error.code !== 'channel_invalid' || common.some((name) => error.message.startsWith(`${name}: `)))
    return refusedForm(form, error, names);
  const faults = new Map<string, string>();
  const objections: string[] = [];
  for (const part of error.message.split(/; (?=config\.)/)) {
    const [, name = '', words = part] = /^(config\.\S+) (.*)$/s.exec(part) ?? [];
    if (names.includes(name)) faults.set(name, sentence(words));
    else objections.push(sentence(part));
  }
  return { form, faults, objections, status: statusOf[error.kind] };
};
