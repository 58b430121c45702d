/**
 * vitest's set-up of each file of `npm run test:cluster`: its own bus, of the form that the
 * configuration says, for everything in the file.
 */
import { afterAll, beforeAll, beforeEach, inject } from 'vitest';
import { type BusForm, type FormedBus, startFormedBus } from './buses.ts';
import { waitLonger } from './eventually.ts';
import { bringServices, hasBinaries } from './services.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    busForm: BusForm;
  }
}

let bus: FormedBus | undefined;

beforeAll(async () => {
  if (!hasBinaries())
    throw new Error(
      'a bus of several servers needs the nats-server as a program, and this run has containers',
    );
  waitLonger(3);
  bus = await startFormedBus(inject('busForm'));
  bringServices({ ...inject('services'), nats: bus.nats });
});
beforeEach(() => bus?.trouble());
afterAll(async () => {
  const told = await bus?.calm();
  await bus?.stop();
  process.stdout.write(`${inject('busForm')}: ${told}\n`);
});
