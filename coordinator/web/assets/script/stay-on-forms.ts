import { Idiomorph } from 'idiomorph';
import { isOurs } from './live.ts';
import { parsed } from './parsed-page.ts';

const send = (form: HTMLFormElement, act: string, signal: AbortSignal): Promise<Response> => {
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form))
    if (typeof value === 'string') body.append(name, value);
  body.append('act', act);
  return fetch(form.action, { method: 'POST', body, signal });
};

/**
 * Names of the fields that the reader changed since the form was sent: the answer does not contain
 * these changes.
 */
const changed = new Set<string | null>();

/** The answer to a form contains what was ticked in it; only later changes stay. */
const isOursInAnswer = (name: string, node: Element): boolean =>
  name === 'checked' || name === 'selected'
    ? !changed.has((node.closest('select') ?? node).getAttribute('name'))
    : isOurs(name, node);

/**
 * Replaces the page with the received part of a page that comes in pieces, except for what the
 * reader is doing in it.
 */
const take = (page: Document): void => {
  const [now, next] = [document, page].map((each) => each.getElementById('main'));
  if (!now || !next) return;
  Idiomorph.morph(now, next, {
    ignoreActiveValue: true,
    callbacks: { beforeAttributeUpdated: isOursInAnswer },
  });
  for (const fault of now.querySelectorAll('[aria-invalid]'))
    fault.closest('details')?.setAttribute('open', '');
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
    // Before that, the form itself may be incomplete.
    if (!page.querySelector('[data-trial]')) continue;
    take(page);
    if (!seen) document.getElementById('trial')?.scrollIntoView({ block: 'nearest' });
    seen = true;
  }
  if (!seen) take(parsed(text));
  document.querySelector<HTMLElement>('main [role="alert"]')?.focus();
};

/**
 * Buttons that keep their form on the page (`data-stays`): their result is shown in it, piece by
 * piece. Also for the consequences of a choice.
 */
export const stayOnForms = (): void => {
  document.addEventListener('submit', (event) => {
    const { submitter, target } = event;
    if (
      !(submitter instanceof HTMLButtonElement) ||
      !(target instanceof HTMLFormElement) ||
      !submitter.matches('[data-stays]')
    )
      return;
    event.preventDefault();
    show(target, submitter.value).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') return;
      // As without scripts, once the service answers.
      submitter.removeAttribute('data-stays');
      target.requestSubmit(submitter);
    });
  });
  let asking: AbortController | undefined;
  document.addEventListener('change', async ({ target }) => {
    if (target instanceof Element) changed.add(target.getAttribute('name'));
    const form =
      target instanceof Element ? target.closest('[data-refreshes]')?.closest('form') : null;
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
      // The next choice shows it again, and so does saving.
    }
  });
};

/**
 * What is stored already is not to be saved: the button works from the first change on. When a page is
 * loaded again, browsers keep what was filled in.
 */
export const awaitChanges = (): void => {
  const [opened] = performance.getEntriesByType('navigation');
  if (!(opened instanceof PerformanceNavigationTiming) || opened.type !== 'navigate') return;
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-awaits-change]')) {
    button.disabled = true;
    for (const kind of ['input', 'change'])
      button.form?.addEventListener(kind, () => {
        button.disabled = false;
      });
  }
};

/** For half a minute; after that, the reader has to press the button. */
const maxTries = 15;
const retryMs = 2_000;

const isAnswering = (): Promise<boolean> =>
  fetch('/favicon.svg', { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );

/**
 * A form is sent once the service answers, and once by the browser itself: a page saying that
 * nothing answered would lose its input. Its key lets the service recognise a form that the reader
 * sends again because the answer was lost.
 */
export const sendForms = (): void => {
  const bar = document.getElementById('unsent');
  const again = bar?.querySelector('button');
  if (!bar || !again) return;
  let waiting: HTMLFormElement | undefined;
  let ready: HTMLFormElement | undefined;
  const deliver = async (
    form: HTMLFormElement,
    submitter: HTMLElement | null,
    tries = maxTries,
  ): Promise<void> => {
    waiting = form;
    bar.hidden = await isAnswering();
    if (waiting !== form) return;
    again.onclick = () => void deliver(form, submitter);
    if (!bar.hidden) {
      if (tries > 0)
        setTimeout(() => waiting === form && void deliver(form, submitter, tries - 1), retryMs);
      else waiting = undefined;
      return;
    }
    waiting = undefined;
    ready = form;
    form.requestSubmit(submitter);
    ready = undefined;
  };
  document.addEventListener('submit', (event) => {
    const { target, submitter } = event;
    if (
      event.defaultPrevented ||
      !(target instanceof HTMLFormElement) ||
      target.method !== 'post' ||
      target === ready
    )
      return;
    event.preventDefault();
    if (waiting !== target) void deliver(target, submitter);
  });
  document.addEventListener('formdata', ({ formData, target }) => {
    if (target === ready)
      formData.set('form_key', crypto.getRandomValues(new Uint32Array(4)).join('-'));
  });
};
