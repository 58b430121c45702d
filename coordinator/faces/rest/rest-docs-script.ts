/** The one script of the page: a button beside each text that is to be copied. Without it one click chooses the text. */
export const docsScript = `
if (navigator.clipboard) for (const block of document.querySelectorAll('pre.copy')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', 'Copy: ' + (block.previousElementSibling?.textContent ?? 'the text'));
  const said = document.createElement('span');
  said.setAttribute('role', 'status');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.textContent);
    said.textContent = 'Copied';
    setTimeout(() => { said.textContent = ''; }, 2000);
  });
  const line = document.createElement('p');
  line.className = 'copying';
  line.append(button, ' ', said);
  (block.previousElementSibling ?? block).before(line);
}
`;
