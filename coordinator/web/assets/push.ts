/**
 * The form that adds this browser as a channel. It asks the browser for permission, tests whether a
 * message arrives, and is sent only then. Loaded on its page alone.
 */

import './script/trusted.ts';

/** The state of the page: it shows one at a time. */
type State =
  | ('elsewhere' | 'insecure' | 'home-screen' | 'unable' | 'denied')
  | ('able' | 'asking' | 'sending' | 'silent' | 'refused' | 'failed');

const form = document.querySelector<HTMLFormElement>('form[data-push]');

const say = (state: State, words = ''): void => {
  for (const each of form?.querySelectorAll<HTMLElement>('[data-push-when]') ?? [])
    each.hidden = !(each.dataset.pushWhen ?? '').split(' ').includes(state);
  for (const each of form?.querySelectorAll<HTMLElement>('[data-push-words]') ?? [])
    each.textContent = words;
};

const stateNow = (origin: string | undefined): State => {
  if (location.origin !== origin) return 'elsewhere';
  if (!window.isSecureContext) return 'insecure';
  if (!('serviceWorker' in navigator) || !('PushManager' in window) || !('Notification' in window))
    return 'standalone' in navigator ? 'home-screen' : 'unable';
  return Notification.permission === 'denied' ? 'denied' : 'able';
};

const bytesOf = (key: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), (letter) =>
    letter.charCodeAt(0),
  );

/** The only address that our worker may have. */
const workerAddress = '/alerts/push-worker.js';
const only = (address: string): string => {
  if (address !== workerAddress) throw new TypeError(address);
  return address;
};
const policy = window.trustedTypes?.createPolicy('push-worker', { createScriptURL: only });

const register = async (): Promise<ServiceWorkerRegistration> => {
  // It must not be cached: the next version takes effect with the next visit.
  await navigator.serviceWorker.register(
    policy ? policy.createScriptURL(workerAddress) : workerAddress,
    {
      scope: '/alerts/',
      updateViaCache: 'none',
    },
  );
  return navigator.serviceWorker.ready;
};

const subscribe = async (
  { pushManager }: ServiceWorkerRegistration,
  key: string,
): Promise<PushSubscription> => {
  const options = { userVisibleOnly: true, applicationServerKey: bytesOf(key) };
  try {
    return await pushManager.subscribe(options);
  } catch (error) {
    // It was subscribed to another installation that had this address before.
    const before = await pushManager.getSubscription();
    if (!before || !(error instanceof DOMException) || error.name !== 'InvalidStateError')
      throw error;
    await before.unsubscribe();
    return pushManager.subscribe(options);
  }
};

const fill = (of: HTMLFormElement, subscription: PushSubscription): void => {
  const { endpoint = '', keys = {} } = subscription.toJSON();
  const values: Readonly<Record<string, string | undefined>> = { endpoint, ...keys };
  for (const name of ['endpoint', 'p256dh', 'auth']) {
    const field = of.elements.namedItem(`config.${name}`);
    if (field instanceof HTMLInputElement) field.value = values[name] ?? '';
  }
};

/** Resolves when the worker reports a test, however late. */
const arrival = (): Promise<void> =>
  new Promise((resolve) => {
    navigator.serviceWorker.addEventListener(
      'message',
      ({ data }: MessageEvent<{ readonly arrived?: string } | null>) => {
        if (data?.arrived === 'test') resolve();
      },
    );
    navigator.serviceWorker.startMessages();
  });

const patienceMs = 30_000;

const bodyOf = (of: HTMLFormElement): URLSearchParams => {
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(of))
    if (typeof value === 'string') body.append(name, value);
  return body;
};

const add = async (of: HTMLFormElement): Promise<void> => {
  say('asking');
  if ((await Notification.requestPermission()) !== 'granted')
    return say(Notification.permission === 'denied' ? 'denied' : 'able');
  const registration = await register();
  fill(of, await subscribe(registration, of.dataset.key ?? ''));
  say('sending');
  const arrived = arrival();
  const answer = await fetch(of.dataset.test ?? '', { method: 'POST', body: bodyOf(of) });
  const { taken, words }: { readonly taken: boolean; readonly words: string } = await answer.json();
  if (!taken) return say('refused', words);
  const impatience = setTimeout(say, patienceMs, 'silent');
  await arrived;
  clearTimeout(impatience);
  of.submit();
};

if (form) {
  say(stateNow(form.dataset.origin));
  form.addEventListener('submit', (event) => {
    // The user may save the channel even if no test was seen.
    if (event.submitter instanceof HTMLButtonElement && event.submitter.value === 'save') return;
    event.preventDefault();
    add(form).catch(() => say('failed'));
  });
}
