import { describe, expect, test } from 'vitest';
import { targetOfPasted } from '../../../../coordinator/monitors/pages/pasted-address.ts';

describe('an address as people paste it', () => {
  test.each([
    ['https', 'shop.example', 'https://shop.example'],
    ['https', ' shop.example:8443/up?now ', 'https://shop.example:8443/up?now'],
    ['https', 'http://shop.example', 'http://shop.example'],
    ['https', 'shop', 'shop'],
    ['websocket', 'https://shop.example/live', 'wss://shop.example/live'],
    ['websocket', 'shop.example/live', 'wss://shop.example/live'],
    ['websocket', 'ws://shop.example/live', 'ws://shop.example/live'],
    ['grpc', 'api.shop.example:443', 'grpcs://api.shop.example:443'],
    ['grpc', 'http://api.shop.example:8080', 'grpc://api.shop.example:8080'],
    ['dns', 'https://shop.example/checkout', 'shop.example'],
    ['dns', '_dmarc.shop.example', '_dmarc.shop.example'],
    ['icmp', 'router.shop.example:22', 'router.shop.example'],
    ['icmp', '2001:db8::1', '2001:db8::1'],
    ['icmp', 'https://[2001:db8::1]:8443/', '2001:db8::1'],
    ['domain', 'https://www.shop.example/', 'shop.example'],
    ['tls', 'https://shop.example/', 'shop.example:443'],
    ['tls', 'mail.shop.example:993', 'mail.shop.example:993'],
    ['tls', 'shop.example', 'shop.example:443'],
    ['tcp', 'http://shop.example/up', 'shop.example:80'],
    ['tcp', 'db.shop.example', 'db.shop.example'],
    ['heartbeat', 'https://db1/etc/cron.d', 'https://db1/etc/cron.d'],
  ])('%s: %s', (kind, pasted, target) => {
    expect(targetOfPasted(kind, pasted)).toBe(target);
  });
});
