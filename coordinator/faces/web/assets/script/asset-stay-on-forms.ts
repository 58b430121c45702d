import { Idiomorph } from 'idiomorph';
import { isOurs } from './asset-live.ts';
import { parsed } from './asset-parsed-page.ts';

const send = (form: HTMLFormElement, act: string, signal: AbortSignal): Promise<Response> => {
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') body.append(name, value);
  body.append('act', act);
  return fetch(form.action, { method: 'POST', body, signal });
};

/** Names of the fields that somebody changed since their form was sent: the answer knows nothing of that. */
const changed = new Set<string | null>();

/** The answer to a form has what was ticked in it; only what was changed meanwhile stays as it is. */
const isOursInAnswer = (name: string, node: Element): boolean =>
  name === 'checked' || name === 'selected' ? !changed.has((node.closest('select') ?? node).getAttribute('name')) : isOurs(name, node);

/** What is there so far of a page that comes in pieces takes the place of the page, but for what somebody does in it. */
const take = (page: Document): void => {
  const [now, next] = [document, page].map((each) => each.getElementById('main'));
  if (!now || !next) return;
  Idiomorph.morph(now, next, { ignoreActiveValue: true, callbacks: { beforeAttributeUpdated: isOursInAnswer } });
  for (const fault of now.querySelectorAll('[aria-invalid]')) fault.closest('details')?.setAttribute('open', '');
};

let running: AbortController | undefined;

const show = async (form: HTMLFormElement, act: string): Promise<void> => {
  running?.abort();
  running = new AbortController();
  changed.clear();
  const answer = await send(form, act, running.signal);
  if (answer.redirected) return location.assign(answer.url);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let seen = false;
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    text += piece.value;
    const page = parsed(text);
    // Before that the form itself may not be whole.
    if (!page.querySelector('[data-trial]')) continue;
    take(page);
    if (!seen) document.getElementById('trial')?.scrollIntoView({ block: 'nearest' });
    seen = true;
  }
  if (!seen) take(parsed(text));
  document.querySelector<HTMLElement>('main [role="alert"]')?.focus();
};

/** Buttons that keep their form on the page (`data-stays`): what comes of them is shown in it, piece by piece. And what follows from a choice. */
export const stayOnForms = (): void => {
  document.addEventListener('submit', (event) => {
    const { submitter, target } = event;
    if (!(submitter instanceof HTMLButtonElement) || !(target instanceof HTMLFormElement) || !submitter.matches('[data-stays]')) return;
    event.preventDefault();
    show(target, submitter.value).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') return;
      // The browser's own way says what is wrong.
      submitter.removeAttribute('data-stays');
      target.requestSubmit(submitter);
    });
  });
  let asking: AbortController | undefined;
  document.addEventListener('change', async ({ target }) => {
    if (target instanceof Element) changed.add(target.getAttribute('name'));
    const form = target instanceof Element ? target.closest('[data-refreshes]')?.closest('form') : null;
    if (!form) return;
    asking?.abort();
    asking = new AbortController();
    try {
      const page = parsed(await (await send(form, 'look', asking.signal)).text());
      for (const words of form.querySelectorAll('[data-refreshed]')) {
        const next = page.getElementById(words.id);
        if (next) Idiomorph.morph(words, next);
      }
    } catch {
      // It is said again with the next choice, and after saving.
    }
  });
};
