#!/usr/bin/env node
import { runProgram } from './run.mjs';

await runProgram('deploy/local/antipode-mcp.ts', process.argv.slice(2));
