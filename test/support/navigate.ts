/** For test files: a request with exactly these headers, as browsers send them when a person clicks; fetch() writes some of them itself. */
import { request } from 'node:http';

/** What a browser sends with a click. */
export const click = { 'sec-fetch-mode': 'navigate', 'sec-fetch-user': '?1', 'sec-fetch-site': 'none' } as const;

export type Arrived = {
  readonly status: number;
  readonly location: string | undefined;
  readonly cookies: readonly string[];
  readonly text: string;
};

export const navigate = (url: string, headers: Readonly<Record<string, string>> = click, method = 'GET'): Promise<Arrived> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { method, headers: { accept: 'text/html', ...headers } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
      });
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, location: answer.headers.location, cookies: answer.headers['set-cookie'] ?? [], text }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
