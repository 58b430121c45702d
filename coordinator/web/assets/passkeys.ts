/**
 * Forms that a passkey answers: `data-passkey` says what the browser does, `data-options` where it
 * gets its options. Loaded on their pages alone.
 */

const shown = (form: HTMLFormElement, part: string, isShown: boolean): void => {
  for (const each of form.querySelectorAll<HTMLElement>(`[data-passkey-${part}]`))
    each.hidden = !isShown;
};

const askFor = async (form: HTMLFormElement): Promise<Credential | null> => {
  const answer = await fetch(form.dataset.options ?? '', {
    method: 'POST',
    body: new URLSearchParams(),
  });
  if (!answer.ok) throw new Error(`asked for options: ${answer.status}`);
  const options = await answer.json();
  return form.dataset.passkey === 'create'
    ? navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
      })
    : navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
      });
};

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-passkey]')) {
  const isHere = location.origin === form.dataset.origin;
  shown(form, 'elsewhere', !isHere);
  shown(form, 'unable', isHere && !('PublicKeyCredential' in window));
  shown(form, 'able', isHere && 'PublicKeyCredential' in window);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    shown(form, 'failed', false);
    try {
      const credential = await askFor(form);
      const field = form.querySelector<HTMLInputElement>('input[name="answer"]');
      if (!credential || !field) throw new Error('no passkey answered');
      field.value = JSON.stringify(credential);
      form.submit();
    } catch {
      // The user cancelled, or the device has no passkey for this site: the browser does not say
      // which.
      shown(form, 'failed', true);
    }
  });
}
