import { startChildProgram } from '../../support/processes.ts';
import type { Lab } from './types.ts';

/** A program of a peer at the first place; settles when it is up. @returns its end. */
export async function startPeer(
  { world, authority }: Lab,
  command: readonly string[],
  port: number,
  isUp: (url: string) => Promise<boolean>,
  environment: Readonly<Record<string, string>> = {},
): Promise<() => Promise<void>> {
  const place = world.places[0];
  if (!place) throw new Error('there is no place');
  const program = await startChildProgram(
    ['ip', 'netns', 'exec', place.netns, ...command],
    { SSL_CERT_FILE: authority, NODE_EXTRA_CA_CERTS: authority, ...environment },
    () => isUp(`http://${place.address}:${port}`),
  );
  return async () => {
    program.signal('SIGKILL');
    await program.exited;
  };
}
