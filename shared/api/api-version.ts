/** Of the API's document: the first number is that of `/api/v1`; the rest grows with what is added. */
export const apiVersion = '1.1.9';

/** Counts what we added to that version: one more with every change of the document. */
export const apiRevision = 8;
