import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2023',
    // The policy of the page allows files of its own only: nothing inlined, no `data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Libraries change seldom: apart, they stay in caches when the app changes.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'libraries', test: /node_modules/ },
            { name: 'shared', test: /src/, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
