/**
 * What an issuer is called: the organisation in its distinguished name, else its common name, else
 * all of it.
 */
export function issuerName(distinguished: string): string {
  const name =
    /(?:^|, )O=(.+?)(?:, [A-Z]+=|$)/.exec(distinguished)?.[1] ??
    /(?:^|, )CN=(.+?)(?:, [A-Z]+=|$)/.exec(distinguished)?.[1] ??
    distinguished;
  return name.slice(0, 100).toWellFormed();
}
