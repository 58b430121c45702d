import type { ApiDocument } from './openapi.ts';
export const docsSecurityPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
export const docsPage = (document: ApiDocument): string => JSON.stringify(document);
