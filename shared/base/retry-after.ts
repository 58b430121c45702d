/**
 * `Retry-After` in whole seconds: a number, or an instant by the clock of who says it (its header
 * `Date`); undefined when it is absent or unreadable.
 */
export function retryAfter_s(
  said: string | undefined,
  date: string | undefined,
): number | undefined {
  const text = said?.trim() ?? '';
  const after = /^\d{1,9}(\.\d+)?$/.test(text)
    ? Number(text)
    : (instantOf(text) - instantOf(date ?? '')) / 1_000;
  return Number.isFinite(after) ? Math.max(0, Math.ceil(after)) : undefined;
}

function instantOf(date: string): number {
  return /^[A-Z][a-z]{2}, .* GMT$/.test(date) ? Date.parse(date) : Number.NaN;
}
