#!/usr/bin/env node
import { programs } from './layout.mjs';
import { runProgram } from './run.mjs';

await runProgram(programs['antipode-probe'], process.argv.slice(2));
