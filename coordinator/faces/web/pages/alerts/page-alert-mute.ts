import { muteAlerts, unmuteAlerts } from '../../../../../shared/api/inner/inner-alerts.ts';
import { type Page, seeOther } from '../../web-page.ts';

export const mute: Page = {
  method: 'POST',
  path: '/alerts/mute',
  needs: 'member',
  answer: async ({ ask, form }) => {
    await ask(muteAlerts, { minutes: form.value('minutes') ?? '60' });
    return seeOther('/alerts');
  },
};

export const unmute: Page = {
  method: 'POST',
  path: '/alerts/unmute',
  needs: 'member',
  answer: async ({ ask }) => {
    await ask(unmuteAlerts);
    return seeOther('/alerts', { said: 'Alerts are told again, and what was held goes out if it still lasts.' });
  },
};
