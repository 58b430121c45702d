#!/usr/bin/env node
import { runCli, processContext } from './cli.ts';

process.exitCode = await runCli(processContext());
