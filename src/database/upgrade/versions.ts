/** Negative if the first version is older. What follows a `-` does not count. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [one, other].map((version) =>
    version
      .replace(/[-+].*/, '')
      .split('.')
      .map(Number),
  );
  const differing = a!.findIndex((part, index) => part !== b![index]);
  return differing === -1 ? 0 : a![differing]! - b![differing]!;
}
