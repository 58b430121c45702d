const saidMs = 1_600;

/**
 * Buttons that copy: `data-copy` is the text, or `#` and the id of the element with the text.
 */
export const copyOnClick = (): void => {
  document.addEventListener('click', async (event) => {
    const button =
      event.target instanceof Element ? event.target.closest<HTMLElement>('[data-copy]') : null;
    const source = button?.dataset.copy;
    if (!button || source === undefined) return;
    const text = source.startsWith('#')
      ? (document.getElementById(source.slice(1))?.textContent ?? '')
      : source;
    await navigator.clipboard.writeText(text.trim());
    const words = button.querySelector('[data-copied]');
    if (!words) return;
    const before = words.textContent;
    words.textContent = 'Copied';
    setTimeout(() => {
      words.textContent = before;
    }, saidMs);
  });
};
