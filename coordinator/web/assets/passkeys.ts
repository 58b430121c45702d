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
  const isAble = 'PublicKeyCredential' in window || !isHere;
  shown(form, 'unable', !isAble);
  shown(form, 'able', isAble);
  form.addEventListener('submit', async (event) => {
    // A form may have another way, too.
    if (event.submitter?.matches('[data-passkey-not]')) return;
    event.preventDefault();
    const name = form.querySelector<HTMLInputElement>('input[name="name"]');
    if (name?.reportValidity() === false) return;
    // Only who wants to use one needs to know where they work.
    if (!isHere) return shown(form, 'elsewhere', true);
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
