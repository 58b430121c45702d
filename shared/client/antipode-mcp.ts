#!/usr/bin/env node
import { runMcp } from './mcp-process.ts';

await runMcp();
