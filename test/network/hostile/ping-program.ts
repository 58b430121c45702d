/**
 * A program in place of ping, of which these addresses make output that harms its reader if it can.
 * For every other address it is the real one.
 */
export const hostileAddresses = [1, 2, 3, 4, 5, 6].map((last) => `127.66.0.${last}`);

export const pingProgram = (real: string): string => `#!/bin/sh
for address; do :; done
answers='64 bytes from 127.66.0.1: icmp_seq=1 ttl=64 time=0.04 ms (DUP!)'
summary='3 packets transmitted, 3 received, 0% packet loss, time 402ms
rtt min/avg/max/mdev = 0.04/0.05/0.06/0.01 ms'
case "$address" in
  ${hostileAddresses[0]}) trap '' INT; yes "$answers" | head -c 2000000; exec sleep 10 ;;
  ${hostileAddresses[1]}) yes "$answers" | head -c 20000; echo "$summary" | dd bs=1 2>/dev/null ;;
  ${hostileAddresses[2]}) printf '3 packets transm'; kill -9 $$ ;;
  ${hostileAddresses[3]}) head -c 200000 /dev/urandom ;;
  ${hostileAddresses[4]}) echo '99999 packets transmitted, 99999999 received'; echo 'rtt = 9.9.9/../... ms' ;;
  ${hostileAddresses[5]}) echo '3 Pakete übertragen, 3 empfangen, 0% verloren' ;;
  *) exec ${real} "$@" ;;
esac
`;
