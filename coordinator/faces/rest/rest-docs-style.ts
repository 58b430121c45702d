/** The whole style of the page: system fonts, no foreign host, light or dark as the reader's machine says. */
export const docsStyle = `
:root { color-scheme: light dark; --text: #1c2430; --faint: #55606e; --ground: #fff; --raised: #f4f6f8; --line: #d5dbe2; --link: #0b5fae;
  --get: #0b6b3a; --post: #0b5fae; --patch: #8a5300; --delete: #a82a2a; }
@media (prefers-color-scheme: dark) { :root { --text: #e5e9ee; --faint: #a5b0bd; --ground: #12161b; --raised: #1b2129; --line: #323b46;
  --link: #7db8f5; --get: #6fce9c; --post: #7db8f5; --patch: #e5b163; --delete: #f09090; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 1rem/1.55 system-ui, sans-serif; color: var(--text); background: var(--ground); }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); padding: .5rem 1rem; z-index: 1; }
.page { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 78rem; margin: 0 auto; }
nav { padding: 1.5rem 1rem; border-right: 1px solid var(--line); position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; }
nav p { font-weight: 700; margin: 1.1rem 0 .2rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: .2rem 0; text-decoration: none; font-size: .92rem; }
nav a:hover { text-decoration: underline; }
main { padding: 1.5rem 2rem 6rem; min-width: 0; }
h1 { margin: 0 0 .3rem; font-size: 1.9rem; line-height: 1.2; }
h2 { margin: 3rem 0 .5rem; font-size: 1.45rem; }
h3 { margin: 0; font-size: 1.12rem; }
h4 { margin: 1.2rem 0 .3rem; font-size: .95rem; }
main > h3 { margin-top: 1.2rem; }
article { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem 1.2rem; margin: 1.2rem 0; }
.route { margin: .3rem 0 .6rem; overflow-wrap: anywhere; }
.method { font-weight: 700; margin-right: .4rem; }
.GET { color: var(--get); } .POST { color: var(--post); } .PATCH { color: var(--patch); } .DELETE { color: var(--delete); }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
code { overflow-wrap: break-word; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem; overflow-x: auto; margin: .4rem 0; }
.copy { user-select: all; clear: both; }
.copying { float: right; margin: .75rem 0 .3rem; font-size: .85rem; }
.copying button { font: inherit; color: var(--link); background: var(--ground); border: 1px solid var(--line); border-radius: .35rem; padding: .15rem .6rem; cursor: pointer; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
caption { text-align: left; font-weight: 700; font-size: .95rem; padding: .8rem 0 .2rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); }
thead th { color: var(--faint); font-weight: 600; }
tbody th { font-weight: 400; }
td p { margin: 0 0 .3rem; }
.faint { color: var(--faint); }
details { margin-top: .8rem; }
summary { cursor: pointer; font-weight: 600; padding: .2rem 0; }
@media (max-width: 50rem) {
  .page { display: block; }
  nav { position: static; max-height: 40vh; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem 1rem 4rem; }
  thead { position: absolute; left: -999rem; }
  tr { display: block; padding: .45rem 0; border-bottom: 1px solid var(--line); }
  th, td { display: inline; border: 0; padding: 0 .5rem 0 0; }
  table:not(.keys) td:nth-child(3) { white-space: nowrap; }
  table:not(.keys) td:nth-child(3)::before { content: "required: "; color: var(--faint); }
  td:last-child { display: block; }
  .keys td { display: block; }
  .plans thead { position: static; }
  .plans tr { display: table-row; }
  .plans th, .plans td, .plans td:last-child { display: table-cell; padding: .3rem .5rem .3rem 0; border-bottom: 1px solid var(--line); }
  table.plans td:nth-child(3)::before { content: none; }
}
@media print { nav, .skip { display: none; } .page { display: block; } article { break-inside: avoid; } }
`;
