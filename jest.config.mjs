/** Real servers are slow to start on a shared 2-core machine; tests wait for conditions, and this is only the limit for one that hangs. */
const testTimeout = 300_000;

/** @type {import('jest').Config} */
export default {
  testTimeout,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: [
    '<rootDir>/dist/',
    '<rootDir>/test/fixtures/',
    '<rootDir>/test/projects/',
    '<rootDir>/.cache/',
  ],
  extensionsToTreatAsEsm: ['.ts'],
  // Sources are named .js in imports; a package's `x.json.js` is a script of that name.
  moduleNameMapper: { '^(\\.{1,2}/.*)(?<!\\.json)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['@swc/jest'] },
  setupFiles: ['<rootDir>/test/support/in-root.mjs'],
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  testSequencer: '<rootDir>/test/support/slowest-first.mjs',
  // One more than the two processors: files that wait for a dead process to be given up left a third of them idle.
  maxWorkers: 3,
};
