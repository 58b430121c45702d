import { z } from 'zod';

const shape = 'must be postgres://user:password@host:port/database';

const isReadable = (text: string): boolean => {
  // Several hosts, and a socket in place of a host, are understood by the client and by no URL parser.
  const [, authority = ''] = /^postgres(?:ql)?:\/\/([^/?]*)/.exec(text) ?? [];
  return authority === '' || authority.endsWith('@') || authority.includes(',') || URL.canParse(text);
};

/** The address of a Postgres, as a variable of the environment. */
export const postgresAddress = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: shape, abort: true })
  .refine(isReadable, shape);
