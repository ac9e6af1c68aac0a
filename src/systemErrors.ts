/** What the operating system's codes mean, for people. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is used up',
  EFBIG: 'the file would be larger than this user may make one',
  EIO: 'the disk reports an error',
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it exists already',
  ELOOP: 'its symbolic links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
  EMFILE: 'this process has too many open files',
  ENFILE: 'this machine has too many open files',
};

/** In a few words, or undefined. */
export const systemReason = (error: unknown): string | undefined =>
  REASONS[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];

/** One sentence about a file, or undefined if it is another error. */
export function systemProblem(error: unknown): string | undefined {
  const reason = systemReason(error);
  if (reason === undefined) return undefined;
  const { path } = error as NodeJS.ErrnoException;
  return path === undefined
    ? `${reason[0]!.toUpperCase()}${reason.slice(1)}.`
    : `${path} cannot be used: ${reason}.`;
}
