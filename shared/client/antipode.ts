#!/usr/bin/env node
import { processContext, runCli } from './cli.ts';

process.exitCode = await runCli(processContext());
