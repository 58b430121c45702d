/** Of the API's document: the first number is that of `/api/v1`; the rest grows with what is added. */
export const apiVersion = '1.1.9';
