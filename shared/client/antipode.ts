#!/usr/bin/env node
import { runCli } from './cli.ts';
import { surroundings } from './process-surroundings.ts';

process.exitCode = await runCli(surroundings());
