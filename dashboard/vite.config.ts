import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2023',
    // The Content-Security-Policy allows only files from the same origin: nothing inline, no `data:` URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The bundle has no comments, so the licences of its packages are in a file beside it.
    license: { fileName: 'licences.md' },
    // Libraries rarely change. In their own file they stay cached when the app changes. What the first page does not need
    // is in files of its own.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'libraries', test: /node_modules/, tags: ['$initial'] },
            { name: 'shared', test: /src/, minShareCount: 2, tags: ['$initial'] },
            { name: 'dialogs', test: /node_modules\/@mantine/, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
