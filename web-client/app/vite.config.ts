/** Builds the page into `dist/page`, where the gateway finds it; as a development server it passes requests on to a gateway. */
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const gateway = 'http://127.0.0.1:8080';

export default defineConfig({
  root: folder('.'),
  plugins: [react()],
  build: { outDir: folder('../../dist/page'), emptyOutDir: true, modulePreload: { polyfill: false } },
  server: { proxy: { '/sessions': gateway, '/turns': gateway, '/lab': gateway } },
});
