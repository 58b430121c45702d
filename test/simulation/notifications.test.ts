import { expect, test } from 'vitest';
import { campaign } from './campaign.ts';

test('rules 30 to 38 hold in every story', () => {
  const isEnough = ({ stories }: { readonly stories: number }) => stories >= 24;
  expect(campaign({ seed: 1, tells: 'notification', isEnough }).failed).toBeNull();
});
