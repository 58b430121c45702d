import { type Page, seeOther } from '../web-page.ts';
import { keptChoices } from '../web-preferences.ts';

/** Which clock and which light the reader wants; then the page again that they came from. */
export const choosePreferences: Page = {
  method: 'POST',
  path: '/preferences',
  needs: 'nobody',
  answer: ({ form, with: { baseUrl } }) => {
    const secure = baseUrl().startsWith('https:');
    const back = form.value('back') ?? '/';
    const chosen = { zone: form.value('zone'), theme: form.value('theme') };
    return seeOther(/^\/(?![/\\])/.test(back) ? back : '/', { headers: { 'set-cookie': keptChoices(chosen, secure) } });
  },
};
