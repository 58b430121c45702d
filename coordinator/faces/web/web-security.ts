/** Nothing inline, nothing from elsewhere, nobody frames us; text becomes HTML, and an address a worker, in one named place of our scripts each. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types antipode push-worker',
].join('; ');

export const securityHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With no-referrer a form that is posted would name no origin.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const;

/**
 * Of pages before somebody has come in, and of what leads from one to the next: an assistant may have opened them in a window of its own, and waits
 * for what becomes of it.
 */
export const openerHeaders = { 'cross-origin-opener-policy': 'unsafe-none' } as const;

/** The worker that shows what a browser is told fetches nothing, and nobody keeps it: browsers ask for it anew by themselves. */
export const workerHeaders = {
  'content-type': 'text/javascript; charset=utf-8',
  'content-security-policy': "default-src 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const;
