import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fault } from '../../shared/api/fields.ts';
import { InvalidInput } from '../../shared/api/operation.ts';
import type { Answered, Named, Outcome } from '../gate/setup.ts';

/** How a caller marks a call that is done once, however often it is sent. */

export const keyHeader = 'Idempotency-Key';
export const replayedHeader = 'Idempotency-Replayed';
export const maxKeyCharacters = 255;
/** Characters that every keyboard can type. */
export const keyPattern = '^[ -~]+$';

const place = ['header', keyHeader.toLowerCase()] as const;

/** The fault of a key, in the form of all other faults. */
export const keyFault = (key: string): Fault | undefined => {
  // With members in the order of all other faults.
  const fault = (type: string, msg: string, ctx: NonNullable<Fault['ctx']>): Fault => ({ type, loc: place, msg, input: key, ctx });
  if (key === '') return fault('string_too_short', 'String should have at least 1 character', { min_length: 1 });
  if (key.length > maxKeyCharacters)
    return fault('string_too_long', `String should have at most ${maxKeyCharacters} characters`, { max_length: maxKeyCharacters });
  if (new RegExp(keyPattern).test(key)) return undefined;
  return fault('string_pattern_mismatch', `String should match pattern '${keyPattern}'`, { pattern: keyPattern });
};

/**
 * The key that a request names, with a digest of the request; undefined without a key. @throws
 * InvalidInput.
 */
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

/** The answer, marked if it is a repeated one. @throws the refusal, if that is the answer. */
export const answerOnce = async (asked: Promise<Outcome>, reply: FastifyReply): Promise<Answered> => {
  const outcome = await asked;
  if (outcome.replayed) reply.header(replayedHeader.toLowerCase(), 'true');
  if ('refused' in outcome) throw outcome.refused;
  return outcome.answered;
};
