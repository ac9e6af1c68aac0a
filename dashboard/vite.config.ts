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
    // Libraries rarely change. In their own file they stay cached when the app changes. Those of the second factor are
    // loaded only when they are needed.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'libraries', test: /node_modules\/(?!uqr|@simplewebauthn)/ },
            { name: 'shared', test: /src/, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
