import { briefDuration } from '../../../../shared/base/time.ts';

/** Only the browser knows the reader's own zone, so the script offers it beside the others. */
export const offerOwnZone = (): void => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const button = document.querySelector<HTMLButtonElement>('[data-own-zone]');
  const offered = [...(button?.parentElement?.querySelectorAll('button') ?? [])].some(
    ({ textContent }) => textContent === timeZone,
  );
  if (!button || !timeZone || offered) return;
  button.value = timeZone;
  button.textContent = timeZone;
  button.hidden = false;
};

/** Pointing at a time shows it in the reader's local time. */
export const showLocalTime = (): void => {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
  document.addEventListener('pointerover', (event) => {
    const time = event.target instanceof Element ? event.target.closest('time') : null;
    if (time && time.title === '') time.title = format.format(new Date(time.dateTime));
  });
};

let serverAheadMs = 0;

/**
 * The difference between the clocks of the service and this browser, according to the page that was
 * just made.
 */
export const setClock = (): void => {
  serverAheadMs = Number(document.body.dataset.now) - Date.now();
};

/** Updates `8 s ago` even when no new page comes. */
export const tickTimes = (): void => {
  if (document.body.dataset.now === undefined) return;
  setClock();
  setInterval(() => {
    for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-ago]'))
      time.textContent = `${briefDuration(Date.now() + serverAheadMs - Date.parse(time.dateTime))} ago`;
  }, 1_000);
};

/**
 * A checkbox that ticks all others of its form, shown only where scripts run; buttons that need a
 * selection wait for one.
 */
export const checkAll = (): void => {
  const boxes = (form: HTMLFormElement): HTMLInputElement[] => [
    ...form.querySelectorAll<HTMLInputElement>('input[data-each]'),
  ];
  for (const all of document.querySelectorAll<HTMLInputElement>('input[data-all]'))
    all.hidden = false;
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.form) return;
    const { form } = target;
    if (target.matches('[data-all]')) for (const box of boxes(form)) box.checked = target.checked;
    const count = boxes(form).filter(({ checked }) => checked).length;
    for (const words of form.querySelectorAll('[data-count]')) words.textContent = String(count);
    form.toggleAttribute('data-some', count > 0);
  });
};
