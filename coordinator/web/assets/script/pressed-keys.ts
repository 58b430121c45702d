/** After `g`, the next key within this time chooses a page. */
const patienceMs = 1_500;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'));

const row = (step: number): void => {
  const links = [...document.querySelectorAll<HTMLElement>('main [data-row]')];
  const at = document.activeElement instanceof HTMLElement ? links.indexOf(document.activeElement) : -1;
  links[at === -1 ? (step > 0 ? 0 : links.length - 1) : at + step]?.focus();
};

/** Keyboard shortcuts. */
export const listenToKeys = (): void => {
  /** Long ago: the clock of events begins with the page, so 0 would be a `g` at its load. */
  let going = Number.NEGATIVE_INFINITY;
  const open = (selector: string): void => document.querySelector<HTMLElement>(selector)?.click();
  document.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === 'k' && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      open('[data-open="palette"]');
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || document.querySelector('dialog[open]')) return;
    const goes = event.timeStamp - going < patienceMs;
    going = Number.NEGATIVE_INFINITY;
    if (goes && /^[a-z]$/.test(key)) open(`[data-key="${key}"]`);
    else if (key === 'g') going = event.timeStamp;
    else if (key === '/') open('[data-open="palette"]');
    else if (key === '?') document.querySelector<HTMLDialogElement>('#keys')?.showModal();
    else if (key === 'n') open('[data-new]');
    else if (key === 'j') row(1);
    else if (key === 'k') row(-1);
    else return;
    event.preventDefault();
  });
};
