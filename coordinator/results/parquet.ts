import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { type Check, phaseNames } from './check.ts';

/** A check with the names that an analyst looks for. */
export type NamedCheck = Check & {
  readonly organisation_id: string;
  readonly organisation: string;
  readonly monitor_id: string;
  readonly monitor: string;
  readonly continent: string;
  /** The private place of its probe; null for public probes. */
  readonly place: string | null;
};

type Column = {
  readonly name: string;
  readonly type: 'STRING' | 'TIMESTAMP' | 'FLOAT';
  readonly isNullable?: true;
  readonly of: (check: NamedCheck) => string | number | bigint | null;
};

const text = (
  name: keyof NamedCheck &
    ('organisation' | 'organisation_id' | 'monitor' | 'monitor_id' | 'continent' | 'outcome'),
): Column => ({
  name,
  type: 'STRING',
  of: (check) => check[name],
});

const columns: readonly Column[] = [
  text('organisation_id'),
  text('organisation'),
  text('monitor_id'),
  text('monitor'),
  // `at` is a keyword of DuckDB.
  { name: 'checked_at', type: 'TIMESTAMP', of: ({ at }) => BigInt(at) },
  text('continent'),
  { name: 'place', type: 'STRING', isNullable: true, of: ({ place }) => place },
  text('outcome'),
  { name: 'took_ms', type: 'FLOAT', of: ({ took_ms }) => took_ms },
  ...phaseNames.map(
    (phase): Column => ({
      name: `${phase}_ms`,
      type: 'FLOAT',
      isNullable: true,
      of: ({ phases }) => phases?.[phase] ?? null,
    }),
  ),
  { name: 'cause', type: 'STRING', isNullable: true, of: ({ cause }) => cause },
];

const forms = {
  STRING: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  TIMESTAMP: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  FLOAT: { type: 'FLOAT' },
} as const;

const encodings = {
  STRING: {},
  TIMESTAMP: { encoding: 'DELTA_BINARY_PACKED' },
  FLOAT: { encoding: 'BYTE_STREAM_SPLIT' },
} as const;

/**
 * A file of Parquet, made piece by piece: what is returned is its next bytes. Its end has the index
 * of all pieces, so a file that was cut off cannot be mistaken for a whole one.
 */
export type ParquetFile = {
  /** A row group; some 100,000 rows are a good one. */
  readonly add: (checks: readonly NamedCheck[]) => Uint8Array;
  readonly end: () => Uint8Array;
};

export const createParquet = (): ParquetFile => {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [
      { name: 'checks', num_children: columns.length },
      ...columns.map(({ name, type, isNullable }) => ({
        name,
        ...forms[type],
        repetition_type: isNullable ? ('OPTIONAL' as const) : ('REQUIRED' as const),
      })),
    ],
    codec: 'ZSTD',
    compressors: { ZSTD: (input) => zstdCompressSync(input) },
    createdBy: 'antipode',
  });
  const taken = (): Uint8Array => {
    const piece = bytes.getBytes().slice();
    bytes.index = 0;
    return piece;
  };
  return {
    add: (checks) => {
      writer.write({
        columnData: columns.map(({ name, type, of }) => ({
          name,
          data: checks.map(of),
          ...encodings[type],
        })),
        rowGroupSize: checks.length,
      });
      return taken();
    },
    end: () => {
      writer.finish();
      return taken();
    },
  };
};
