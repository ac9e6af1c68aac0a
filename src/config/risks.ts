import { type SettingsFile, settingsFileRisks } from './settingsFile.ts';
import type { UnknownSetting } from './unknown.ts';

interface Settings {
  host: string;
  trustProxy: boolean | number | string;
  allowedHosts: string[] | undefined;
  unknownSettings: readonly UnknownSetting[];
  settingsFile: SettingsFile | undefined;
  openSecretFiles: readonly string[];
}

/** Valid settings that are probably a mistake. The server logs them at its start, and the doctor shows them. */
export function riskySettings({
  trustProxy,
  allowedHosts,
  host,
  unknownSettings,
  settingsFile,
  openSecretFiles,
}: Settings): { message: string; fix: string }[] {
  const risks = settingsFileRisks(settingsFile);
  for (const setting of openSecretFiles) {
    risks.push({
      message: `All users of this machine can read the file of ${setting}.`,
      fix: 'Give it to the user who runs Deskbell, with mode 600.',
    });
  }
  if (trustProxy === true) {
    risks.push({
      message: 'TRUST_PROXY is true: clients can pretend to have any address and avoid the limits.',
      fix: 'Set it to the number of proxies, such as 1, or to a list of their addresses.',
    });
  }
  if (!allowedHosts) {
    risks.push({
      message: `HOST ${host} is open to other machines, and requests for every host name are answered.`,
      fix: 'Set PUBLIC_URL to the address that people use, such as https://desk.shop.example.',
    });
  }
  for (const { name, near } of unknownSettings) {
    risks.push({
      message: `${name} is not a setting of Deskbell and has no effect.`,
      fix: near === undefined ? 'See docs/settings.md.' : `Did you mean ${near}?`,
    });
  }
  return risks;
}
