import type { CauseParams, CauseRow } from '../result.ts';

/** Codes of gRPC, by their number. */
export const grpcCodes = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
];

/** Health statuses of grpc.health.v1, by their number. */
export const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
export const serving = 1;

/** What a code means for a health check, where it means more than its name says. */
const codeWords: Readonly<Record<string, (params: CauseParams) => string>> = {
  CANCELLED: () => 'The server cancelled the health check',
  DEADLINE_EXCEEDED: () => 'The server could not answer in time',
  NOT_FOUND: (params) => `The server does not know the health of ${asked(params)}`,
  PERMISSION_DENIED: () => 'The server does not permit the health check',
  RESOURCE_EXHAUSTED: () => 'The server takes no more requests',
  UNIMPLEMENTED: () => 'The server has no health service (grpc.health.v1)',
  INTERNAL: () => 'The server has an internal error',
  UNAVAILABLE: () => 'The server is unavailable',
  UNAUTHENTICATED: () => 'The server wants valid credentials',
};

/** The monitor's own words for it. */
function asked({ service }: CauseParams): string {
  return service === undefined || service === '' ? 'the server' : `the service "${service}"`;
}

const statusWords: Readonly<Record<string, (params: CauseParams) => string>> = {
  UNKNOWN: (params) => `The health of ${asked(params)} is unknown`,
  NOT_SERVING: (params) => `${capital(asked(params))} is not serving`,
  SERVICE_UNKNOWN: (params) => `The server does not know ${asked(params)}`,
};

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Every cause of a grpc check beyond those of a connection and of HTTP. Params hold numbers, and
 * texts of the monitor's own config or of lists of ours.
 */
export const grpcCauses = {
  http2_not_spoken: {
    layer: 'http',
    sentence: () => 'The server does not speak HTTP/2 on this port',
  },
  grpc_not_spoken: {
    layer: 'http',
    sentence: ({ status }) =>
      status === 200 ? 'The answer is not gRPC' : `Status ${status} instead of a gRPC answer`,
  },
  grpc_status_missing: {
    layer: 'http',
    sentence: () => 'The answer ended without a gRPC status',
  },
  grpc_status: {
    layer: 'assertion',
    sentence: (params) => {
      const name = nameOf(grpcCodes, params.code);
      const words = codeWords[name]?.(params) ?? 'The health check failed';
      return `${words} (gRPC status ${name})`;
    },
  },
  grpc_answer_malformed: {
    layer: 'assertion',
    sentence: () => 'The answer is no health status',
  },
  grpc_not_serving: {
    layer: 'assertion',
    sentence: (params) => {
      const name = nameOf(servingStatuses, params.status);
      const words = statusWords[name]?.(params) ?? `${capital(asked(params))} is not serving`;
      return `${words} (${name})`;
    },
  },
} satisfies Record<string, CauseRow>;

function nameOf(names: readonly string[], code: CauseParams[string] | undefined): string {
  return names[Number(code)] ?? String(code);
}

export type GrpcCause = keyof typeof grpcCauses;
