import { oldestMs } from '../domain/signed-in-session.ts';

/** The cookie that holds a session. The API takes it as a parameter and ignores it: a page of somebody else can do nothing with it there. */
export const sessionCookie = 'svc_session';

/** Over https no other host of our domain can plant a cookie of this name. */
export const sessionCookieOf = (isSecure: boolean): string => (isSecure ? `__Host-${sessionCookie}` : sessionCookie);

const attributes = (isSecure: boolean): string => `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;

/** The value of a Set-Cookie header. */
export const setSessionCookie = (text: string, isSecure: boolean): string =>
  `${sessionCookieOf(isSecure)}=${text}; Max-Age=${oldestMs / 1000}; ${attributes(isSecure)}`;

export const endSessionCookie = (isSecure: boolean): string => `${sessionCookieOf(isSecure)}=; Max-Age=0; ${attributes(isSecure)}`;

/** What a Cookie header holds under a name. */
export const cookieNamed = (name: string, header: string | undefined): string | undefined => {
  for (const pair of (header ?? '').split(';')) {
    const [key = '', ...value] = pair.split('=');
    if (key.trim() === name) return value.join('=').trim();
  }
  return undefined;
};
