import { describe, expect, test } from 'vitest';
import { formOf } from '../../../coordinator/web/form-data.ts';
import { refusedForm } from '../../../coordinator/web/forms.ts';
import { Refusal } from '../../../shared/base/errors.ts';

describe('a refused form', () => {
  const fields = ['name', 'config.url', 'config.json', 'days[]', 'repeats'];
  const shownFor = (said: Refusal['remedies'] | string, message?: string) => {
    const error = new Refusal('config_invalid', said, message === undefined ? {} : { message });
    const { faults, objections, status } = refusedForm(formOf({}), error, {
      fields,
      beside: { days: 'repeats' },
    });
    return { faults: [...faults], objections, status };
  };

  test('shows every remedy beside its field, whatever the message says', () => {
    const told = shownFor(
      { name: 'is taken; name: or `url` cannot be used', 'config.url': 'give an address.' },
      'config.json: is at fault',
    );
    expect(told).toEqual({
      faults: [
        ['name', 'Is taken; name: or `url` cannot be used.'],
        ['config.url', 'Give an address.'],
      ],
      objections: [],
      status: 400,
    });
  });

  test('finds the field of a key of a config, of what is inside a field, and of what is shown at another', () => {
    expect(
      shownFor({ url: 'a', 'config.json[0].path': 'b', days: 'c', 'other.name': 'd' }),
    ).toMatchObject({
      faults: [
        ['config.url', 'A.'],
        ['config.json', 'B.'],
        ['repeats', 'C.'],
      ],
      objections: ['Other.name: d.'],
    });
  });

  test('says above the fields what is about none of them', () => {
    expect(shownFor('Nothing can be saved now')).toMatchObject({
      faults: [],
      objections: ['Nothing can be saved now.'],
    });
  });
});

test('the message of a refusal names each field with its remedy', () => {
  const { message } = new Refusal('name_invalid', { name: 'is missing', slug: 'is too long.' });
  expect(message).toBe('name: is missing; slug: is too long.');
});
