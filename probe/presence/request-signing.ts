import { join } from 'node:path';
import {
  createRequestKey,
  type DirectoryProof,
  proofRenewedS,
  proveForDirectory,
  type RequestKey,
  requestKeyFrom,
} from '../../shared/base/http-signatures.ts';
import type { PresenceMessage } from '../../shared/bus/messages.ts';
import { createRequestSigner, type RequestSigner } from '../checks/https/signer.ts';
import { readIfThere, replaceFile } from '../disk/files.ts';

/**
 * How a public probe signs its requests to targets. Its key is made at its first start and stays on
 * its disk; presence brings the public half to the coordinators, with the key's own signature for
 * their directory. Losing the key loses nothing: the next one is published in the same way.
 */
export type RequestSigning = {
  /**
   * Signs where the coordinator's address is https, because verifiers fetch the directory from no
   * other.
   */
  readonly signerFor: (baseUrl: string) => RequestSigner | undefined;
  /** What a presence says of the key, by the corrected clock. */
  readonly described: (baseUrl: string, now: number) => Pick<PresenceMessage, 'request_key'>;
};

export async function openRequestSigning(folder: string): Promise<RequestSigning> {
  const key = await ownKey(join(folder, 'requests.key'));
  let proof: DirectoryProof | undefined;
  return {
    signerFor: (baseUrl) => {
      const url = secureOrigin(baseUrl);
      return url && createRequestSigner(key, url.origin);
    },
    described: (baseUrl, now) => {
      const authority = secureOrigin(baseUrl)?.host;
      if (authority === undefined) return {};
      const seconds = Math.floor(now / 1_000);
      if (
        proof?.authority !== authority ||
        seconds < proof.created ||
        seconds - proof.created >= proofRenewedS
      )
        proof = proveForDirectory(key, authority, seconds);
      return { request_key: proof };
    },
  };
}

async function ownKey(path: string): Promise<RequestKey> {
  const stored = await readIfThere(path);
  if (stored !== undefined) return requestKeyFrom(stored.trim());
  const made = createRequestKey();
  await replaceFile(path, `${made.secret}\n`, { durable: true });
  return made;
}

function secureOrigin(baseUrl: string): URL | undefined {
  const url = URL.parse(baseUrl);
  return url?.protocol === 'https:' ? url : undefined;
}
