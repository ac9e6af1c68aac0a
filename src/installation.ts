/** Whether this is the package that `npm run build` makes, or the source. */
export const PACKAGED = import.meta.url.endsWith('.js');

/** How to call the program, for hints. */
export const PROGRAM = PACKAGED ? 'deskbell' : 'npm run deskbell --';

/** A file that comes with Deskbell. The package has its code in `lib/`, where the source has `src/`. */
export const shippedFile = (path: string): URL => new URL(`../${path}`, import.meta.url);
