/** Where the account's pages are. A stranger is sent to the sign-in from all of them, whether there is such a page or not: what is there is no stranger's business. */
const folders = [
  ...['monitors', 'incidents', 'maintenance', 'groups', 'status-pages', 'probes', 'alerts', 'members', 'tokens', 'organisation'],
  ...['audit', 'profile', 'organisations', 'confirm', 'search'],
];

export const isAccountPath = (url: string): boolean => folders.includes(url.split(/[/?#]/)[1] ?? '');
