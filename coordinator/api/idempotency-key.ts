import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fault } from '../../shared/api/fields.ts';
import { InvalidInput } from '../../shared/api/operation.ts';
import type { Answered, Named, Outcome } from '../gate/setup.ts';

/** How a caller says that a call is to be done once, however often it is sent. */

export const keyHeader = 'Idempotency-Key';
export const replayedHeader = 'Idempotency-Replayed';
export const maxKeyCharacters = 255;
/** What can be typed on every keyboard. */
export const keyPattern = '^[ -~]+$';

const place = ['header', keyHeader.toLowerCase()] as const;

/** What is wrong with a key, in the words that every other fault has. */
export const keyFault = (key: string): Fault | undefined => {
  // In the order of members that every other fault has.
  const fault = (type: string, msg: string, ctx: NonNullable<Fault['ctx']>): Fault => ({ type, loc: place, msg, input: key, ctx });
  if (key === '') return fault('string_too_short', 'String should have at least 1 character', { min_length: 1 });
  if (key.length > maxKeyCharacters)
    return fault('string_too_long', `String should have at most ${maxKeyCharacters} characters`, { max_length: maxKeyCharacters });
  if (new RegExp(keyPattern).test(key)) return undefined;
  return fault('string_pattern_mismatch', `String should match pattern '${keyPattern}'`, { pattern: keyPattern });
};

/** The key that a request names, with a digest of what it asks; undefined where it names none. @throws InvalidInput. */
export const namedBy = (request: FastifyRequest): Named | undefined => {
  const header = request.headers[keyHeader.toLowerCase()];
  if (header === undefined) return undefined;
  const key = String(header).trim();
  const fault = keyFault(key);
  if (fault) throw new InvalidInput([fault]);
  const digest = createHash('sha256').update(`${request.method} ${request.raw.url ?? ''}\n`);
  if (Buffer.isBuffer(request.body)) digest.update(request.body);
  return { key, request: digest.digest('hex') };
};

/** The answer, marked where it is one that was given before. @throws the refusal that it is. */
export const answerOnce = async (asked: Promise<Outcome>, reply: FastifyReply): Promise<Answered> => {
  const outcome = await asked;
  if (outcome.replayed) reply.header(replayedHeader.toLowerCase(), 'true');
  if ('refused' in outcome) throw outcome.refused;
  return outcome.answered;
};
