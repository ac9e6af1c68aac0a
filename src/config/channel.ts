import { DESCRIPTORS } from '../delivery/channels/descriptors.ts';
import { type ChannelSettings, type Field, fieldProblems, isFilledIn } from '../delivery/channels/fields.ts';
import { type CountryCode, isCountry } from '../delivery/phone.ts';
import type { Reader } from './values.ts';

export interface ChannelConfig {
  name: string;
  settings: ChannelSettings;
}

/** Reads the settings that the channels' descriptors list. */
export function readChannel(name: string, { text, flag }: Reader, problems: string[]): ChannelConfig {
  let chosen: ChannelSettings = {};
  for (const descriptor of DESCRIPTORS) {
    const settings = Object.fromEntries(
      descriptor.fields.map((field) => [
        field.key,
        field.kind === 'flag' ? (flag(field.variable) ?? false) : (text(field.variable) ?? field.default),
      ]),
    );
    const isChosen = descriptor.name === name;
    if (isChosen) chosen = settings;
    // A channel that is not chosen is checked only if it is filled in: merchants' own channels do not need it.
    if (isChosen || isFilledIn(descriptor.fields, settings)) {
      const found = fieldProblems(descriptor.fields, settings);
      const must = (field: Field) =>
        settings[field.key] === undefined ? `be set with CHANNEL=${name}: it must ` : '';
      problems.push(
        ...found.map(
          ({ field, text: problem }) =>
            `${field.variable} ${problem.replace('must ', `must ${must(field)}`)}`,
        ),
      );
    }
  }
  return { name, settings: chosen };
}

/**
 * What merchants must not set in their own channels. Flags allow private networks, as `webhookEndpointsAllowPrivate`
 * does for their webhook endpoints.
 */
export function readOperatorSettings(
  { text }: Reader,
  allowPrivate: boolean,
): Record<string, ChannelSettings> {
  return Object.fromEntries(
    DESCRIPTORS.map(({ name, fields }) => [
      name,
      Object.fromEntries(
        fields
          .filter(({ operatorOnly }) => operatorOnly)
          .map((field) => [
            field.key,
            field.kind === 'flag' ? allowPrivate : (text(field.variable) ?? field.default),
          ]),
      ),
    ]),
  );
}

export function readCountry(given: string | undefined, problems: string[]): CountryCode | undefined {
  const country = given?.toUpperCase();
  if (country === undefined || isCountry(country)) return country;
  problems.push(
    `DEFAULT_COUNTRY must be the two letters of a country, such as ES for Spain, not "${given}".`,
  );
  return undefined;
}
