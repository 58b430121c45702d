type Environment = Readonly<Record<string, string | undefined>>;

const variables = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy'] as const;
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Lets every call of this process go through the proxy that the environment names. What runs on this machine is reached without one. Tells what
 * cannot be done; an older Node does not know how, and goes on without.
 */
export const useProxies = (url: string, environment: Environment): string | undefined => {
  const named = variables.find((name) => environment[name]);
  if (named === undefined || environment.NODE_USE_ENV_PROXY === '1' || loopback.test(new URL(url).hostname)) return undefined;
  // An older Node has no such function, one before 20.16 no way to ask for the module.
  const http = process.getBuiltinModule?.('node:http');
  if (http?.setGlobalProxyFromEnv) {
    http.setGlobalProxyFromEnv({
      HTTP_PROXY: environment.HTTP_PROXY || environment.http_proxy,
      HTTPS_PROXY: environment.HTTPS_PROXY || environment.https_proxy,
      NO_PROXY: environment.NO_PROXY || environment.no_proxy,
    });
    return undefined;
  }
  return `${named} is set, but Node ${process.versions.node} cannot go through a proxy by itself: Node 24.14 or later can, and Node 22.21 with NODE_USE_ENV_PROXY=1. Going on without.`;
};
