import { codeOf } from './error-code.ts';

/** Why nothing can listen there, in words for whoever chose HOST and PORT; undefined for an error that is about something else. */
export const listenObstacle = (error: unknown, port: number, host: string): string | undefined => {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') return `port ${port} is taken`;
  if (code === 'EACCES') return `port ${port} is not for this user`;
  const isAboutHost = error instanceof Error && 'syscall' in error && (error.syscall === 'listen' || error.syscall === 'getaddrinfo');
  if (!isAboutHost) return undefined;
  return `HOST=${host} is no address of this machine (${code}): 127.0.0.1 is for this machine alone, 0.0.0.0 for all networks that it is in`;
};
