import { type Html, html } from '../web-html.ts';

type Snippet = { readonly name: string; readonly text: string };

/** How jobs of many kinds ping the address. */
const snippetsFor = (address: string): readonly Snippet[] => [
  { name: 'Shell', text: `your-job && curl -fsS -m 10 --retry 5 -o /dev/null ${address}` },
  { name: 'cron', text: `30 2 * * * your-job; curl -fsS -m 10 --retry 5 -o /dev/null ${address}/$?` },
  {
    name: 'systemd',
    text: `[Service]
ExecStartPre=-/usr/bin/curl -fsS -m 10 -o /dev/null ${address}/start
ExecStart=/usr/local/bin/your-job
ExecStopPost=-/bin/sh -c 'curl -fsS -m 10 --retry 5 -o /dev/null ${address}/$EXIT_STATUS'`,
  },
  {
    name: 'GitHub Actions',
    text: `- name: Tell Antipode
  if: always()
  run: curl -fsS -m 10 --retry 5 "\${{ secrets.PING_ADDRESS }}\${{ job.status != 'success' && '/fail' || '' }}"
  # PING_ADDRESS: ${address}`,
  },
  {
    name: 'PowerShell',
    text: `& your-job
Invoke-RestMethod -Uri "${address}/$LASTEXITCODE" -TimeoutSec 10`,
  },
  {
    name: 'Kubernetes',
    text: `containers:
  - name: job
    image: your-image
    command: ["sh", "-c", "your-job; code=$?; wget -qO- ${address}/$code; exit $code"]`,
  },
];

export const pingSnippets = (address: string): Html =>
  html`<div class="snippets">${snippetsFor(address).map(
    ({ name, text }) =>
      html`<details name="snippet"><summary>${name}</summary><div class="copyable"><pre>${text}</pre><button type="button" class="button" data-copy="${text}" hidden>Copy</button></div></details>`,
  )}</div>
<p class="soft">Add <code>/start</code> when a run begins, <code>/fail</code> or the exit code when it ends; <code>?rid=</code> with a UUID tells overlapping runs apart. What you POST is kept with the ping.</p>`;
