import { changeMonitors } from '../../../../../shared/api/inner/inner-dashboard.ts';
import { countInWords } from '../../../../../shared/base/text.ts';
import { attempt } from '../../web-forms.ts';
import { type Page, seeOther } from '../../web-page.ts';

const done = (change: string | undefined, count: number): string => {
  const some = count === 1 ? 'One monitor is' : `${countInWords(count).replace(/^./, (letter) => letter.toUpperCase())} monitors are`;
  if (change === 'pause') return `${some} paused now.`;
  return change === 'resume' ? `${some} watched again.` : `${some} moved.`;
};

/** Pauses, resumes or moves those that were ticked, and goes back to where they were ticked. */
export const changeChosen: Page = {
  method: 'POST',
  path: '/monitors/change',
  needs: 'member',
  answer: async ({ form, ask }) => {
    const back = form.value('back') ?? '/';
    const to = /^\/(?:\?|$|groups\/[\w-]+$)/.test(back) ? back : '/';
    const monitors = form.values('monitors[]');
    if (monitors.length === 0) return seeOther(to, { said: 'Nothing was chosen: tick the monitors first.' });
    const [change, group] = [form.value('change'), form.value('group')];
    const tried = await attempt(form, () => ask(changeMonitors, { monitors, change, group: group === '' ? null : group }), []);
    if ('refused' in tried) return seeOther(to, { said: tried.refused.objections.join(' ') });
    return seeOther(to, { said: tried.done.changed === 0 ? 'They were so already.' : done(change, tried.done.changed) });
  },
};
