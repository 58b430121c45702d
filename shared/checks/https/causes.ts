import type { CauseParams, CauseRow } from '../result.ts';

/**
 * Every cause of an https check, in the order of its layers. Texts in params come from the
 * monitor's own config or from lists of ours.
 */
export const httpsCauses = {
  response_missing: { layer: 'http', sentence: () => 'Connection closed without a response' },
  response_malformed: { layer: 'http', sentence: () => 'The response is not valid HTTP' },
  response_headers_too_large: {
    layer: 'http',
    sentence: () => 'The response headers are too large',
  },
  response_framing_too_large: {
    layer: 'http',
    sentence: () => 'The framing of the response outweighs its body',
  },
  response_incomplete: {
    layer: 'http',
    sentence: () => 'Connection closed before the whole response had come',
  },
  // Of probes of the versions that spoke HTTP/1.1 alone.
  http2_only: {
    layer: 'http',
    sentence: () => 'The server speaks HTTP/2 only, and checks speak HTTP/1.1',
  },
  http_not_spoken: {
    layer: 'http',
    sentence: () => 'The server offers neither HTTP/1.1 nor HTTP/2',
  },
  http2_cancelled: {
    layer: 'http',
    sentence: ({ code }) => `The server cancelled the HTTP/2 request (${code})`,
  },
  http2_closed: {
    layer: 'http',
    sentence: ({ code }) => `The server closed the HTTP/2 connection (${code})`,
  },
  redirect_limit: { layer: 'http', sentence: ({ limit }) => `More than ${limit} redirects` },
  redirect_loop: { layer: 'http', sentence: () => 'Redirects lead in a circle' },
  redirect_without_location: {
    layer: 'http',
    sentence: ({ status }) => `Status ${status} without an address to go to`,
  },
  redirect_invalid: {
    layer: 'http',
    sentence: () => 'Redirect to something that is no http or https address',
  },
  blocked_by_firewall: {
    layer: 'http',
    sentence: ({ vendor, status }) =>
      `Blocked by ${vendor} (status ${status}): the target limits our probes`,
  },
  origin_unreachable: {
    layer: 'http',
    sentence: ({ vendor, status }) =>
      `${vendor} could not reach the server behind it (status ${status})`,
  },
  unexpected_status: {
    layer: 'http',
    sentence: ({ status, expected, retry_after_s }) =>
      `Status ${status}, expected ${expected}${status === 429 || retry_after_s !== undefined ? ': the target limits our probes' : ''}`,
  },

  header_missing: {
    layer: 'assertion',
    sentence: ({ header }) => `Response has no header ${header}`,
  },
  header_mismatch: {
    layer: 'assertion',
    sentence: ({ header, text }) => `Header ${header} does not contain "${text}"`,
  },
  body_lacks: {
    layer: 'assertion',
    sentence: (params) => `Body does not contain "${params.text}"${judgedPart(params)}`,
  },
  body_has: { layer: 'assertion', sentence: ({ text }) => `Body contains "${text}"` },
  header_lacks_match: {
    layer: 'assertion',
    sentence: ({ header, text }) => `Header ${header} does not match the pattern "${text}"`,
  },
  header_has_match: {
    layer: 'assertion',
    sentence: ({ header, text }) => `Header ${header} matches the pattern "${text}"`,
  },
  body_lacks_match: {
    layer: 'assertion',
    sentence: (params) => `Body does not match the pattern "${params.text}"${judgedPart(params)}`,
  },
  body_has_match: {
    layer: 'assertion',
    sentence: ({ text }) => `Body matches the pattern "${text}"`,
  },
  body_match_untold: {
    layer: 'assertion',
    sentence: ({ text }) =>
      `Body is too long to tell that it does not match the pattern "${text}": nothing in the first 1 MiB does, more was not read`,
  },
  pattern_too_costly: {
    layer: 'assertion',
    sentence: ({ text }) =>
      `The answer is too long for the pattern "${text}": matching it was given up; make the pattern simpler`,
  },
  body_has_untold: {
    layer: 'assertion',
    sentence: ({ text }) =>
      `Body is too long to tell that it does not contain "${text}": it is not in the first 1 MiB, more was not read`,
  },
  body_not_json: {
    layer: 'assertion',
    sentence: ({ truncated }) =>
      truncated === 1
        ? 'Body is too long to be judged as JSON (more than 1 MiB)'
        : 'Body is not valid JSON',
  },
  json_missing: { layer: 'assertion', sentence: ({ path }) => `JSON has nothing at ${path}` },
  json_present: {
    layer: 'assertion',
    sentence: ({ path }) => `JSON has something at ${path}, expected nothing`,
  },
  json_mismatch: {
    layer: 'assertion',
    sentence: ({ path, problem, expected }) => `JSON at ${path} ${problem} ${expected}`,
  },
} satisfies Record<string, CauseRow>;

function judgedPart({ truncated }: CauseParams): string {
  return truncated === 1 ? ' in the first 1 MiB, more was not read' : '';
}

export type HttpsCause = keyof typeof httpsCauses;
