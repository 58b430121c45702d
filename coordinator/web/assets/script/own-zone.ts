import { briefDuration } from '../../../../shared/base/time.ts';

/** The reader's own zone, which only their browser knows, is offered beside the others. */
export const offerOwnZone = (): void => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const button = document.querySelector<HTMLButtonElement>('[data-own-zone]');
  const offered = [...(button?.parentElement?.querySelectorAll('button') ?? [])].some(({ textContent }) => textContent === timeZone);
  if (!button || !timeZone || offered) return;
  button.value = timeZone;
  button.textContent = timeZone;
  button.hidden = false;
};

/** Whoever points at a time is told it on their own clock. */
export const showLocalTime = (): void => {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
  document.addEventListener('pointerover', (event) => {
    const time = event.target instanceof Element ? event.target.closest('time') : null;
    if (time && time.title === '') time.title = format.format(new Date(time.dateTime));
  });
};

let serverAheadMs = 0;

/** How far the clock of the service is ahead of this one, as far as the page that was just made says. */
export const setClock = (): void => {
  serverAheadMs = Number(document.body.dataset.now) - Date.now();
};

/** `8 s ago` grows old also while no page comes. */
export const tickTimes = (): void => {
  if (document.body.dataset.now === undefined) return;
  setClock();
  setInterval(() => {
    for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-ago]'))
      time.textContent = `${briefDuration(Date.now() + serverAheadMs - Date.parse(time.dateTime))} ago`;
  }, 1_000);
};

/** One box that ticks all others of its form, there only where a script is; and what needs a ticked one waits for it. */
export const checkAll = (): void => {
  const boxes = (form: HTMLFormElement): HTMLInputElement[] => [...form.querySelectorAll<HTMLInputElement>('input[data-each]')];
  for (const all of document.querySelectorAll<HTMLInputElement>('input[data-all]')) all.hidden = false;
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.form) return;
    const { form } = target;
    if (target.matches('[data-all]')) for (const box of boxes(form)) box.checked = target.checked;
    const count = boxes(form).filter(({ checked }) => checked).length;
    for (const words of form.querySelectorAll('[data-count]')) words.textContent = String(count);
    form.toggleAttribute('data-some', count > 0);
  });
};
