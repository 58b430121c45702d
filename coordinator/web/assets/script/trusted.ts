/** Where browsers let texts become HTML or addresses of programs only by a policy that has a name, which the page's headers know. */
declare global {
  interface Window {
    readonly trustedTypes?: {
      createPolicy: <Rules extends { readonly [rule: string]: (text: string) => string }>(name: string, rules: Rules) => Rules;
    };
  }
}

export {};
