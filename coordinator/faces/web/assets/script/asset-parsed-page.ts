import './asset-trusted.ts';

// The one place where text becomes HTML: documents that this service itself sent.
const policy = window.trustedTypes?.createPolicy('antipode', { createHTML: (text) => text });

export const parsed = (text: string): Document => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, 'text/html');

/** A page of ours as a document; undefined when it went elsewhere, as to the sign-in, or did not come. */
export const fetchPage = async (address: string, signal?: AbortSignal): Promise<Document | undefined> => {
  const answer = await fetch(address, { headers: { accept: 'text/html' }, ...(signal ? { signal } : {}) });
  if (!answer.ok || answer.redirected) return undefined;
  return parsed(await answer.text());
};
