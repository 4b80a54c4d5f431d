// Builds the web UI into dist/ui: minified files whose names change with what is in them.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  root: at('.'),
  resolve: { alias: { 'pawl/client': at('../src/remote/index.ts') } },
  build: {
    outDir: at('../dist/ui'),
    emptyOutDir: true,
    target: 'es2024',
    // Data URLs and polyfills would need exceptions in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // 'use client' says nothing here: there is no rendering on a server.
      onLog: (level, log, next) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : next(level, log)),
    },
  },
  logLevel: 'warn',
  // For work on the UI: `npx vite ui`, beside a running `pawl dev`.
  server: { proxy: { '/api': 'http://127.0.0.1:7295' } },
})
