// A container's health check: exit code 0 when the address answers with 2xx.
const [address = ''] = process.argv.slice(2);
/** Below the time-out of the check itself, so that it ends with a reason. */
const limitMs = 4_000;
try {
  const answer = await fetch(address, { signal: AbortSignal.timeout(limitMs) });
  if (!answer.ok) throw new Error(`${address} answers ${answer.status}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
