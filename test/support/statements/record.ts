/**
 * Preloaded (`--import`) while statements are recorded: whoever imports `openDatabase` gets the one of open.ts beside this
 * file.
 */
import { registerHooks } from 'node:module';

const ORIGINAL = new URL('../../../src/database/open.ts', import.meta.url).href;
const RECORDED = new URL('./open.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url === ORIGINAL && context.parentURL !== RECORDED ? { ...found, url: RECORDED } : found;
  },
});
