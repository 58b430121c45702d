/** As on Node 24, which has no Temporal, for as long as this runs. */
export const withoutTemporal = <Answer>(run: () => Answer): Answer => {
  const { Temporal: kept } = globalThis;
  Reflect.deleteProperty(globalThis, 'Temporal');
  const back = (): void => void Object.defineProperty(globalThis, 'Temporal', { value: kept, writable: true, configurable: true });
  let answer: Answer;
  try {
    answer = run();
  } catch (error) {
    back();
    throw error;
  }
  if (answer instanceof Promise) answer.finally(back).catch(() => undefined);
  else back();
  return answer;
};
