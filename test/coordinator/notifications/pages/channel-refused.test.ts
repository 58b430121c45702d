import { expect, test } from 'vitest';
import { refusedChannelForm } from '../../../../coordinator/notifications/pages/parts.ts';
import { delayFrom } from '../../../../coordinator/notifications/policy.ts';
import { formFrom } from '../../../../coordinator/web/form-data.ts';
import { Refusal } from '../../../../shared/base/errors.ts';

const kind = { id: 'webhook', name: 'Webhook', about: '', fields: [] };
const form = formFrom('delay_s=99999999');

const refusalOf = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error;
  }
};

test('a wait that is out of range is told at its field of the form, a config at the fields of its kind', () => {
  const late = refusedChannelForm(
    form,
    refusalOf(() => delayFrom(99_999_999)),
    kind,
  );
  expect([[...late.faults], late.objections, late.status]).toEqual([[['delay_s', 'Must be from 0 (at once) to 86400 seconds.']], [], 400]);
  const crooked = new Refusal('channel_invalid', 'config.url must be an address; config.else is not known.');
  const told = refusedChannelForm(form, crooked, kind);
  expect([[...told.faults], told.objections]).toEqual([[], ['Config.url must be an address.', 'Config.else is not known.']]);
});
