/**
 * For browsers that let text become HTML or addresses of programs only through a named policy,
 * which the page's headers list.
 */
declare global {
  interface Window {
    readonly trustedTypes?: {
      createPolicy: <Rules extends { readonly [rule: string]: (text: string) => string }>(
        name: string,
        rules: Rules,
      ) => Rules;
    };
  }
}

export {};
