import './trusted.ts';

// The only place where text becomes HTML: documents that this service sent.
const policy = window.trustedTypes?.createPolicy('antipode', { createHTML: (text) => text });

export const parsed = (text: string): Document =>
  new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, 'text/html');

/**
 * A page of ours as a document; undefined when it does not exist, or redirected, for example to the
 * sign-in. @throws when the service did not answer.
 */
export const fetchPage = async (
  address: string,
  signal?: AbortSignal,
): Promise<Document | undefined> => {
  const answer = await fetch(address, {
    headers: { accept: 'text/html' },
    ...(signal ? { signal } : {}),
  });
  if (answer.status >= 500) throw new Error(`status ${answer.status}`);
  if (!answer.ok || answer.redirected) return undefined;
  return parsed(await answer.text());
};
