const lenient = new TextDecoder();
const strict = new TextDecoder('utf-8', { fatal: true });

/** What a message's bytes say as JSON. @throws when they are none. */
export const jsonOf = (data: Uint8Array): unknown => JSON.parse(lenient.decode(data));

/** The same, or undefined when they are none. */
export const jsonIn = (data: Uint8Array): unknown => {
  try {
    return jsonOf(data);
  } catch {
    return undefined; // That it is no JSON is the answer.
  }
};

/** The same for what comes from probes and is stored: bytes that are no UTF-8 are refused, not read as something else. @throws then, too. */
export const strictJsonOf = (data: Uint8Array): unknown => JSON.parse(strict.decode(data));
