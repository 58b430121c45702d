/**
 * A row that is dragged by its handle goes where the pointer is. The service then says what the
 * order means: a heading takes its monitors along. By keys, the buttons beside it move it. Loaded on
 * pages with such rows alone.
 */
document.addEventListener('pointerdown', (down) => {
  const handle = down.target instanceof Element ? down.target.closest('[data-drag]') : null;
  const row = handle?.closest('li');
  if (!handle || !row || down.button !== 0) return;
  down.preventDefault();
  // The row itself stays in the document, and the others pass it: it would lose the pointer.
  handle.setPointerCapture(down.pointerId);
  const drag = new AbortController();
  const { signal } = drag;
  let isMoved = false;
  row.toggleAttribute('data-dragged', true);
  const move = ({ clientY }: PointerEvent): void => {
    const middleOf = (each: Element | null): number => {
      const { top = 0, height = 0 } = each?.getBoundingClientRect() ?? {};
      return top + height / 2;
    };
    for (let next = row.nextElementSibling; next && clientY > middleOf(next); isMoved = true) {
      row.before(next);
      next = row.nextElementSibling;
    }
    for (let last = row.previousElementSibling; last && clientY < middleOf(last); isMoved = true) {
      row.after(last);
      last = row.previousElementSibling;
    }
  };
  const end = (): void => {
    drag.abort();
    row.toggleAttribute('data-dragged', false);
    const form = row.closest('form');
    if (isMoved) form?.requestSubmit(form.querySelector<HTMLElement>('[value="look"]'));
  };
  document.addEventListener('pointermove', move, { signal });
  handle.addEventListener('lostpointercapture', end, { signal });
});
