import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LICENCE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/** The licences of these packages with their texts, as they ask for. */
export function licenceTexts(folders: readonly string[]): string {
  const parts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const files = readdirSync(folder).filter((file) => LICENCE.test(file));
    const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
    return `## ${name} ${version}\n\nLicence: ${license}\n${texts.map((text) => `\n\`\`\`text\n${text}\n\`\`\`\n`).join('')}`;
  });
  return `# Licences of other packages

The code in \`lib/\` and \`docs/scalar.js.gz\` contains parts of these packages. Those of the dashboard are in \`dashboard/dist/licences.md\`, and npm
installs the dependencies with their own licences. \`sbom.json\` lists all of them (CycloneDX).

${[...new Set(parts)].join('\n')}`;
}
