import { Refusal } from '../../shared/base/errors.ts';
import { ProviderFault } from './protocol.ts';

/** Says what a provider did in words for whoever signs in. @throws Refusal. */
export async function refusing<Done>(
  { name }: { readonly name: string },
  work: () => Promise<Done>,
): Promise<Done> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    throw error.is === 'away'
      ? new Refusal(
          'provider_away',
          `${name} cannot sign you in now: ${error.message}. Try again in a minute, or sign in another way.`,
        )
      : new Refusal(
          'provider_refused',
          `${name} did not sign you in: ${error.message}. Begin again.`,
        );
  }
}
