#!/usr/bin/env node
import { runCli } from './client-cli.ts';
import { surroundings } from './client-process-surroundings.ts';

process.exitCode = await runCli(surroundings());
