#!/usr/bin/env node
import { runCli, surroundings } from './cli.ts';

process.exitCode = await runCli(surroundings());
