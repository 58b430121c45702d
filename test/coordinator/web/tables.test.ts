import { expect, test } from 'vitest';
import { html } from '../../../coordinator/web/html.ts';
import { acts, number, stepTable, table } from '../../../coordinator/web/tables.ts';

const row = (name: string, count: number) => ({
  id: `shop-${name}`,
  Name: name,
  Count: number(count),
  Remove: acts(html`<button>Remove</button>`),
});

test('a heading is said once, and stands above its column and in each cell', () => {
  expect(String(table([row('a', 1), row('<b>', 2)], 'Shops'))).toBe(
    '<div class="table-card"><table class="cards"><caption class="unseen">Shops</caption>' +
      '<thead><tr><th scope="col">Name</th><th scope="col" class="number">Count</th>' +
      '<th scope="col"><span class="unseen">Remove</span></th></tr></thead><tbody>' +
      '<tr id="shop-a"><td data-label="Name" class="subject">a</td><td data-label="Count" class="number counted">1</td>' +
      '<td class="acts"><button>Remove</button></td></tr>' +
      '<tr id="shop-&lt;b&gt;"><td data-label="Name" class="subject">&lt;b&gt;</td>' +
      '<td data-label="Count" class="number counted">2</td>' +
      '<td class="acts"><button>Remove</button></td></tr></tbody></table></div>',
  );
});

test('keys step through the rows where they may', () => {
  expect(String(stepTable([{ At: 'now' }]))).toContain(
    '<tbody><tr data-row><td data-label="At" class="subject">',
  );
  expect(String(table([{ At: 'now' }]))).toContain(
    '<tbody><tr><td data-label="At" class="subject">',
  );
});

test('without a row there is nothing', () => {
  expect(String(table([], 'Shops'))).toBe('');
});
