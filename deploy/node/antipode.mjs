#!/usr/bin/env node
import { programs } from './layout.mjs';
import { runProgram } from './run.mjs';

const [word, ...words] = process.argv.slice(2);
// Alone it is the whole service: what `npx antipode` means where nothing is installed.
if (word === undefined || word === 'start') await runProgram(programs.start, words);
else if (word === 'backup' || word === 'restore')
  await runProgram(programs.start, [word, ...words]);
else if (word === 'operator') await runProgram(programs.operator, words);
else await runProgram(programs.antipode, [word, ...words]);
