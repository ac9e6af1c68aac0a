import type { ChannelSetup, ChannelTest, ChannelTypes } from '../../../contract/channel.ts';
import { channelUnknown, invalid } from '../../../errors.ts';
import type { Channel, ChannelDescriptor } from '../channel.ts';
import { DESCRIPTORS, findDescriptor } from '../descriptors.ts';
import { type ChannelSettings, type Field, fieldProblems, type TextField } from '../fields.ts';

/** A merchant sets up its own channel. What only the operator may set comes from the server's settings. */

/** What the operator has set, by channel and key. */
export type OperatorSettings = Readonly<Record<string, ChannelSettings>>;

const isOwn = (field: Field): field is TextField => field.kind === 'text' && !field.operatorOnly;
const ownFields = ({ fields }: ChannelDescriptor): TextField[] => fields.filter(isOwn);

/** A channel without settings, such as the simulator, is only for the operator. */
const SETTABLE = DESCRIPTORS.filter((descriptor) => ownFields(descriptor).length > 0);

/** `baseUrl` is where others reach this server. */
export const channelTypes = (baseUrl: string): ChannelTypes =>
  SETTABLE.map((descriptor) => ({
    channel: descriptor.name,
    about: descriptor.about,
    callback_url: descriptor.inbound?.callback ? `${baseUrl}${descriptor.inbound.callback}` : null,
    fields: ownFields(descriptor).map((field) => ({
      option: field.option,
      about: field.about,
      secret: field.secret ?? false,
      optional: field.optional ?? false,
      default: field.default ?? null,
      must_be: field.mustBe,
    })),
  }));

/** As the request names it. */
const fieldOf = (option: string) => `settings.${option}`;

/** The whole settings: what is given, else what is stored, else the default. Throws for the first that is wrong. */
export function readSetup(
  { channel, settings: given }: ChannelSetup,
  stored: { channel: string; settings: ChannelSettings } | undefined,
  operator: OperatorSettings,
): { type: ChannelDescriptor; settings: ChannelSettings } {
  const type = findDescriptor(channel);
  if (!type || !SETTABLE.includes(type)) throw channelUnknown();
  const known = stored?.channel === channel ? stored.settings : {};
  const own = ownFields(type).map((field) => {
    const value = given[field.option];
    const kept = value === undefined ? known[field.key] : value?.trim() || undefined;
    return [field.key, kept ?? field.default];
  });
  const settings: ChannelSettings = { ...Object.fromEntries(own), ...operator[channel] };
  const problems = fieldProblems(type.fields, settings);
  if (problems.length === 0) problems.push(...(type.checkOwn?.(settings) ?? []));
  const [problem] = problems;
  if (problem) throw invalid(fieldOf(problem.field.option), `${problem.field.option} ${problem.text}`);
  return { type, settings };
}

/** Sends nothing to a customer. */
export async function testChannel(channel: Channel): Promise<ChannelTest> {
  const found = channel.test ? await channel.test() : await channel.check();
  if (found === undefined) return { ok: true, code: null, reason: null, field: null };
  if (typeof found === 'string') return { ok: false, code: 'CHECK_FAILED', reason: found, field: null };
  const { code, reason, option } = found;
  return { ok: false, code, reason, field: option === undefined ? null : fieldOf(option) };
}
