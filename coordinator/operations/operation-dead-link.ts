import { Refusal } from '../../shared/base/errors.ts';

/** The same for a link that never was, was used, or has ended. */
export const deadLink = (): Refusal => new Refusal('link_invalid', 'This link was used already, or has ended.');
