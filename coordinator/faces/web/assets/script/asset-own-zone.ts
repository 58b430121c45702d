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
export const tellOwnTime = (): void => {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
  document.addEventListener('pointerover', (event) => {
    const time = event.target instanceof Element ? event.target.closest('time') : null;
    if (time && time.title === '') time.title = format.format(new Date(time.dateTime));
  });
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
