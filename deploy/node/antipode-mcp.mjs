#!/usr/bin/env node
import { programs } from './layout.mjs';
import { runProgram } from './run.mjs';

await runProgram(programs['antipode-mcp'], process.argv.slice(2));
