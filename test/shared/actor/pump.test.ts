import { describe, expect, test } from 'vitest';
import { createPump } from '../../../shared/actor/pump.ts';

describe('a pump', () => {
  const gated = () => {
    const gates: PromiseWithResolvers<void>[] = [];
    const failures: unknown[] = [];
    let may = true;
    const pump = createPump({
      once: () => {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        return gate.promise;
      },
      may: () => may,
      onFailure: (error) => failures.push(error),
    });
    return {
      pump,
      gates,
      failures,
      forbid: () => {
        may = false;
      },
    };
  };

  test('works one at a time, and once more for all that asked meanwhile', async () => {
    const { pump, gates } = gated();
    const done = pump.run();
    for (let time = 0; time < 3; time += 1) await pump.run();
    expect(gates).toHaveLength(1);
    gates[0]?.resolve();
    await expect.poll(() => gates.length).toBe(2);
    gates[1]?.resolve();
    await done;
    expect(gates).toHaveLength(2);
  });

  test('leaves what it may not do to a resume, and does nothing without a request', async () => {
    const { pump, gates, forbid } = gated();
    await pump.resume();
    expect(gates).toHaveLength(0);
    const done = pump.run();
    pump.askAgain();
    forbid();
    gates[0]?.resolve();
    await done;
    expect(gates).toHaveLength(1);
    void pump.resume();
    expect(gates).toHaveLength(2);
  });

  test('continues after a failure, and not after its stop', async () => {
    const { pump, gates, failures } = gated();
    const done = pump.run();
    gates[0]?.reject(new Error('broken'));
    await done;
    expect(failures).toEqual([new Error('broken')]);
    const last = pump.run();
    await pump.run();
    pump.stop();
    gates[1]?.resolve();
    await last;
    await pump.run();
    expect(gates).toHaveLength(2);
  });
});
