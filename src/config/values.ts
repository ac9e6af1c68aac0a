export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads values of the environment. A mistake becomes a line in `problems`, so that all are reported together. */
export function createReader(env: Environment, problems: string[]) {
  /** The names of all settings that were asked for. */
  const names = new Set<string>();

  const text = (key: string): string | undefined => {
    names.add(key);
    return env[key]?.trim() || undefined;
  };

  const integer = (key: string, fallback: number, min: number, max: number): number => {
    const given = text(key);
    if (given === undefined) return fallback;
    const value = Number(given);
    if (/^\d+$/.test(given) && value >= min && value <= max) return value;
    problems.push(`${key} must be a whole number from ${min} to ${max}, not "${given}".`);
    return fallback;
  };

  const flag = (key: string): boolean | undefined => {
    const given = text(key)?.toLowerCase();
    if (given === undefined) return undefined;
    if (['true', '1', 'yes', 'on'].includes(given)) return true;
    if (['false', '0', 'no', 'off'].includes(given)) return false;
    problems.push(`${key} must be true or false, not "${given}".`);
    return undefined;
  };

  const choice = <T extends string>(key: string, options: readonly T[], fallback: T): T => {
    const given = text(key)?.toLowerCase();
    if (given === undefined) return fallback;
    const found = options.find((option) => option === given);
    if (found) return found;
    problems.push(`${key} must be one of ${options.join(', ')}, not "${given}".`);
    return fallback;
  };

  // An address may contain a password: the message names the key and never repeats the value.
  const address = (key: string, schemes: readonly string[]): string | undefined => {
    const given = text(key);
    if (given === undefined) return undefined;
    // PostgreSQL allows several hosts in one address, which URL cannot parse: read the first.
    const parsed = URL.parse(given.replace(/(@|\/\/)([^/@,?]+),[^/@?]*/, '$1$2'));
    if (!parsed || !schemes.includes(parsed.protocol)) {
      problems.push(
        `${key} must be an address that begins with ${schemes.map((s) => `${s}//`).join(' or ')}.`,
      );
      return undefined;
    }
    return given;
  };

  return { names, text, integer, flag, choice, address };
}

export type Reader = ReturnType<typeof createReader>;
