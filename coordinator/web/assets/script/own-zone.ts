import { agoText, briefDuration, deviceZoneName } from '../../../../shared/base/time.ts';

/**
 * Only the browser knows the reader's own zone: the script says it in a cookie, for the next pages,
 * and offers it on this one.
 */
export const offerOwnZone = (): void => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const said = `${deviceZoneName}=${timeZone}`;
  if (timeZone && !document.cookie.split('; ').includes(said))
    // biome-ignore lint/suspicious/noDocumentCookie: not all browsers have the Cookie Store.
    document.cookie = `${said}; path=/; max-age=31536000; samesite=lax`;
  const select = document.querySelector<HTMLSelectElement>('select[data-own-zone]');
  if (select?.value === 'UTC' && [...select.options].some(({ value }) => value === timeZone))
    select.value = timeZone;
  const button = document.querySelector<HTMLButtonElement>('button[data-own-zone]');
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
    for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-ago], [data-lasting]'))
      time.textContent = (time.hasAttribute('data-ago') ? agoText : briefDuration)(
        Date.now() + serverAheadMs - Date.parse(time.dateTime),
      );
  }, 1_000);
};

/** A checkbox that ticks all others of its form, and shows a dash while some are ticked. */
export const checkAll = (): void => {
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.matches('[data-all]')) return;
    for (const box of target.form?.querySelectorAll<HTMLInputElement>('input[data-each]') ?? [])
      box.checked = target.checked;
  });
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    const all = target.form?.querySelector<HTMLInputElement>('[data-all]');
    const boxes = [...(target.form?.querySelectorAll<HTMLInputElement>('input[data-each]') ?? [])];
    if (!all) return;
    all.checked = boxes.every(({ checked }) => checked);
    all.indeterminate = !all.checked && boxes.some(({ checked }) => checked);
  });
};

/** A field above many choices hides those without its words; what is ticked stays so, and counts. */
export const filterChoices = (): void => {
  document.addEventListener('change', ({ target }) => {
    const picker = target instanceof Element ? target.closest('.picker') : null;
    const count = picker?.querySelector('[data-chosen]');
    if (!picker || !count) return;
    const [of, chosen] = ['', ':checked'].map(
      (those) => picker.querySelectorAll(`[type="checkbox"]${those}`).length,
    );
    count.textContent = `${chosen} of ${of} selected`;
  });
  document.addEventListener('input', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.matches('[data-filter]')) return;
    const words = target.value.toLowerCase();
    for (const row of target.parentElement?.querySelectorAll('label') ?? [])
      row.hidden = !`${row.textContent} ${row.dataset.words ?? ''}`.toLowerCase().includes(words);
  });
};
