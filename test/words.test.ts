import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/**
 * What people read speaks the words of the trade. Left the wording that no text may use, right the
 * one that it uses: pages, messages, mails, help, descriptions of operations, documents. Comments
 * are not read here.
 */
const label = (text: string): RegExp => new RegExp(`['"\`>]\\s*${text}\\s*['"\`<]`, 'u');

const words: readonly (readonly [RegExp, string])[] = [
  [/\btokens? acts? for\b/u, 'API tokens'],
  [/\bwaits? for names\b/u, '… to name'],
  [/% taken within|\bLast taken\b|\btaken within\b/u, 'p95 delivery, Last delivered'],
  [/\bA message left\b|\bit was taken\b/u, 'Sent, Delivered (HTTP 200)'],
  [/holds: .[^']*patience|· patience/u, 'delay'],
  [/\bsettings are the usual\b|\bthe usual ones\b/u, 'Default settings'],
  [/\bAll that it can do\b/u, 'See the API reference.'],
  [/\bfinds? it in order\b/u, 'All three checks passed.'],
  [/\baccount of your own\b/u, 'Create your account.'],
  [/\bBecause of:/u, 'Incident'],
  [label('Began'), 'Started'],
  [label('Lasted'), 'Duration'],
  [/\bSeen from\b/u, 'Detected from'],
  [/\brule of your own\b/u, 'Custom (RRULE)'],
  [/\bBy the clock of\b/u, 'Time zone: …'],
  [/['"`>]Changed (?:\$\{|<)/u, 'Updated … ago'],
  [/\bChecks shown below\b/u, 'Checks'],
  [/\bEvery bar is\b|\bnot measured\b/u, 'One bar per day, no data'],
  [/\bEvery one so far\b/u, 'All messages'],
  [/\bFrom what to what\b|\bno secret stands\b/u, 'Changes, secrets are hidden'],
  [/\bGives up after\b/u, 'Timeout'],
  [/\bwhatever is in (?:them|it)\b/u, 'including monitors added later'],
  [/\bHow well we do\b/u, 'Service status'],
  [/\bI am on it\b|\byou on it\b|\b(?:is|are) on it\b/u, 'Acknowledge, Acknowledged by …'],
  [/\btaken care of\b/u, 'Acknowledged by …'],
  [/\bI have it\b|\bTo the channel\b/u, 'Done, View channel'],
  [label('I have one'), 'Sign in instead'],
  [/\bnot here yet\b/u, 'Pending invitations'],
  [/\bIs it still you\b|\bhappens to sit\b/u, 'Confirm your password.'],
  [/\bIs shorter than\b/u, '… must have at least … characters.'],
  [
    /\bIt came from your target\b|\bdata, never instructions\b/u,
    'Content from your server, shown as is.',
  ],
  [/\buntil somebody\b/u, 'Expires: never'],
  [/\bIt was time to say\b/u, 'Recovery alert queued.'],
  [/\bname for the audience\b/u, 'Public name'],
  [/\bwhere secrets are kept\b/u, 'Store it in a secret manager.'],
  [/\b[Ll]ast look\b|\b[Ll]ooked at\b|\bfirst look\b/u, 'Last check, Checked … ago'],
  [/\bLeave it\b/u, 'Cancel'],
  [/\bas the device\b/u, 'System'],
  [/\bbetter than stranger\b/u, 'A long phrase is best.'],
  [label('Look'), 'Open'],
  [/\bround the continents\b/u, 'Re-checking every few seconds from all continents'],
  [/\bMake it\b|\bMake the page\b|\bMake my account\b/u, 'Create …'],
  [/\bit is once\b/u, 'Does not repeat'],
  [/\bis in a group yet\b/u, 'No groups yet'],
  [/\bNobody knows it\b|\bKnown to you alone\b/u, 'Not set, Set'],
  [/\bNothing fits\b/u, 'No monitors match.'],
  [/\bNothing has all of\b/u, 'No results'],
  [/\bOnce more, now\b/u, 'Run now'],
  [/\bends after a week\b/u, 'Sessions end after 7 days unused, 30 days at most.'],
  [/\bOne to a line\b/u, 'One per line'],
  [/\bend before its beginning\b/u, '22:00–06:00 ends the next day.'],
  [label('Over'), 'Resolved'],
  [label('Plan it'), 'Schedule'],
  [/\bPlan maintenance\b/u, 'Schedule maintenance'],
  [/\bQuiet for a while\b/u, 'Mute alerts'],
  [/\bRight status/u, 'Accepted status codes'],
  [/\bRoom for another\b/u, 'Add condition'],
  [/\bSave and begin\b/u, 'Create monitor'],
  [/\bSend me updates\b|\bYes, send them\b/u, 'Subscribe, Confirm subscription'],
  [/\bSending again\b/u, 'Retries and idempotency'],
  [/\bShow it to others\b|\bMake a link\b/u, 'Share, Create link'],
  [/\bSigning in there\b/u, 'Authentication'],
  [/\bas if it did not exist\b/u, 'visitors see "not found"'],
  [/\bTake away\b|\bTake back\b|\bTake this domain\b/u, 'Delete, Revoke, Connect domain'],
  [/\bTell by\b/u, 'New Slack channel'],
  [/\bbecame due\b/u, 'Alert sent'],
  [/\b[Tt]he answer contains\b/u, 'Body contains'],
  [/\bno connection stands\b/u, 'The server does not accept connections.'],
  [/\btest was taken\b/u, 'Test sent (HTTP 200, 21 ms). Check that it arrived.'],
  [/\bdoubling distances\b/u, 'Intervals double, up to once a day, until acknowledged.'],
  [/\bThere is nothing here\b/u, 'Page not found'],
  [/\bcould not be done yet\b/u, 'Please fix the following:'],
  [/\bwaits? to be looked\b/u, '… pending'],
  [label('To come'), 'Upcoming'],
  [/\bRunning and coming\b/u, 'Active and upcoming'],
  [/\bReminded never\b/u, 'Repeat: never'],
  [/\bnothing is saved by that\b/u, 'Test from every continent before you save.'],
  [/\bUptime, every second\b/u, 'Uptime log'],
  [/\bUsual:|\bLeft empty:/u, 'Default: …'],
  [/\bWatch a web address\b/u, 'New monitor'],
  [/\bWeb address\b/u, 'Website or API'],
  [/\bRefuted\b|\brefute\b|\bnot proven\b/u, 'Contradicted, Location unverified'],
  [/\bWhat came back\b/u, 'Compare responses'],
  [/\bWhat counts as up\b/u, 'Assertions'],
  [/\bWhat happened\b/u, 'Timeline'],
  [/\bWhat is sent\b/u, 'Request'],
  [/\bWhat it (?:is told|tells) of\b|\bTold of\b/u, 'Monitors, Incidents'],
  [/\b[Tt]old at once\b|\bTold, /u, 'Notify immediately, Delivered in …'],
  [/\bHow far it is\b/u, 'Status'],
  [/\bWhat that comes to\b|['"`>]\s*Show it\s*['"`<]/u, 'Next occurrences, Refresh, Show'],
  [/\bWhere from\b/u, 'Locations'],
  [/\bWhile it lasted\b/u, 'Checks during the incident'],
  [/\bcalls itself\b|\bwould act as you\b/u, '"Claude" wants access to your account'],
  [/\bWho is told\b|\bwho is told\b/u, 'Notified'],
  [/\bWho knows a password\b|\bWho has a link\b/u, 'With a password, With the link'],
  [/\bWhose it is\b|['"`>]\s*Whose\s*['"`<]/u, 'Owner: Team, Only me'],
  [/\bWhy was I told\b/u, 'Notifications'],
  [/\bWith those chosen\b/u, '… selected'],
  [/\bWrite about it\b|\bWrite it down\b/u, 'Notes, Add note'],
  [/\bdoes not deliver\b/u, '… cannot deliver alerts'],
  [/\bwatched from now on\b|\btold from now on\b/u, 'Monitor created., Channel created.'],
  [/\bon your own here\b/u, 'You are the only member.'],
  [/\bnote stands in\b/u, 'Note added.'],
  [/\bjob that should run\b/u, 'a scheduled job (heartbeat)'],
  [/\bin 160 letters\b/u, 'SMS, up to 160 characters'],
  [/\b[Aa]s the host\b/u, 'Defaults to the host name'],
  [/\bas ever\b/u, 'still …'],
  [/\banew\b/u, 'again'],
  [/\bmay look\b/u, 'Read, Read and write'],
  [/\bno usable result\b/u, 'no data yet'],
  [/\brefused for good\b/u, 'Failed permanently'],
  [/\b[Ss]aved so\b/u, 'Saved like this, it would be down right away.'],
  [/\bupper and lower case count\b/u, 'case-sensitive'],
  [/\b[Ww]hoever\b/u, 'anyone who'],
  [/\bothers often\b/u, 'Probes that disagree with the others are ignored.'],
];

/** A file's text without its comments, white space as one space. */
function textOf(file: string, source: string): string {
  const shown = file.endsWith('.md')
    ? source
    : source.replace(/\/\*[\s\S]*?\*\//gu, ' ').replace(/(^|\s)\/\/ .*$/gmu, ' ');
  return shown.replace(/\s+/gu, ' ');
}

/** Where a text uses a wording that it may not use. */
function faultsOf(file: string, source: string): string[] {
  const text = textOf(file, source);
  return words.flatMap(([wording, better]) => {
    const found = [...text.matchAll(new RegExp(wording, `${wording.flags}g`))];
    return found.map(
      (hit) =>
        `${file}: "${text.slice(Math.max(0, hit.index - 30), hit.index + hit[0].length + 30)}": ${better}`,
    );
  });
}

const root = join(import.meta.dirname, '..');
/** Folders of the product, and documents beside them. */
const places = ['coordinator', 'probe', 'shared', 'deploy', '.github', 'README.md'];
/** What speaks of the past, or holds what others wrote. */
const isLeftOut = (file: string): boolean =>
  /node_modules|CHANGELOG\.md$|RULES\.md$/.test(file) || !/\.(?:ts|md|yml)$/.test(file);

const filesBelow = (path: string): string[] => {
  if (/\.\w+$/.test(path) && !path.startsWith('.github')) return [path];
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
};

test('no text that people read uses a wording that the trade does not', () => {
  const files = places.flatMap(filesBelow).filter((file) => !isLeftOut(file));
  expect(files.length).toBeGreaterThan(400);
  expect(files.flatMap((file) => faultsOf(file, readFileSync(join(root, file), 'utf8')))).toEqual(
    [],
  );
});

test('an old wording is found in a template, on two lines, and not in a comment', () => {
  expect(faultsOf('page.ts', 'html`<a href="/">\n  Leave it\n</a>`')).toHaveLength(1);
  expect(faultsOf('page.ts', "say('It is told\n  at once')".replace('\n ', ''))).toHaveLength(1);
  expect(faultsOf('page.ts', '/** Leave it. */\nconst a = 1; // Leave it\n')).toEqual([]);
});
