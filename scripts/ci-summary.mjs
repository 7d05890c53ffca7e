// node scripts/ci-summary.mjs <jest results> <failed steps>: prints "N passed, N failed" and exits accordingly.
// A check that failed, a file that could not run, and a test that was skipped each count as failed.
import { readFileSync } from 'node:fs';

const [file = '', steps = '0'] = process.argv.slice(2);
let passed = 0;
let failed = Number(steps);
try {
  const results = JSON.parse(readFileSync(file, 'utf8'));
  passed = results.numPassedTests;
  const skipped = results.numPendingTests + results.numTodoTests;
  failed += results.numFailedTests + results.numRuntimeErrorTestSuites + skipped;
  if (skipped > 0) console.log(`${skipped} tests were skipped; each counts as failed`);
  if (passed === 0) failed += 1;
} catch (error) {
  console.log(`the tests left no results: ${error.message}`);
  failed += 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
