const PATH = '/service-worker.js';

interface Policy {
  createScriptURL(text: string): string;
}
interface TrustedTypes {
  createPolicy(name: string, rules: Policy): Policy;
}

let policy: Policy | undefined;

/** The Content-Security-Policy allows only this script as a worker. */
export function workerUrl(): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  policy ??= trustedTypes?.createPolicy('deskbell-worker', { createScriptURL: () => PATH });
  return policy?.createScriptURL(PATH) ?? PATH;
}
