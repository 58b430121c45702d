/** The parser of TypeScript 5, which this package has anyway: TypeScript 7 has none to call. */
export { default as ts } from 'typescript';
