import { z } from 'zod';
import { isRecord } from '../base/json-record.ts';
import { jsonOf } from './bus-message-json.ts';

/** What JetStream answers, and how it says no. */

export class BusRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'BusRefusal';
    this.code = code;
  }
}

const errorShape = z.object({
  error: z.object({ code: z.number(), err_code: z.number().optional(), description: z.string().default('') }),
});

/** Reads an answer of JetStream. @throws BusRefusal when it is a no. */
export const readAnswer = <Shape extends z.ZodType>(data: Uint8Array, shape: Shape): z.infer<Shape> => {
  const body: unknown = jsonOf(data);
  // Nearly every answer is a yes, and to find out by the schema that it is no refusal costs more than all else here.
  const refused = isRecord(body) && 'error' in body ? errorShape.safeParse(body) : undefined;
  if (refused?.success) {
    const { code, err_code, description } = refused.data.error;
    throw new BusRefusal(err_code ?? code, description);
  }
  return shape.parse(body);
};
