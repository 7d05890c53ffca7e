import { loadClientConnectConfig } from '@temporalio/envconfig';
import { TemporalConnectionError } from './errors.js';
import type { TemporalSettings } from './settings.js';

/**
 * The server that the environment names, as the Temporal CLI and SDKs read it (`TEMPORAL_ADDRESS`,
 * `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_*`); `undefined` if it names none: then a dev server is ours
 * to start. A profile file counts only when it is asked for by `TEMPORAL_PROFILE` or `TEMPORAL_CONFIG_FILE`, so
 * that a person's CLI profile never turns `npm start` towards a cluster of theirs.
 * @throws {TemporalConnectionError} if a profile or certificate cannot be read
 */
export function temporalFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): TemporalSettings | undefined {
  const set = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => (entry[1] ?? '') !== ''),
  );
  const asksForFile = 'TEMPORAL_PROFILE' in set || 'TEMPORAL_CONFIG_FILE' in set;
  if (!asksForFile && set.TEMPORAL_ADDRESS === undefined) return undefined;
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({
      overrideEnvVars: set,
      disableFile: !asksForFile,
    });
    const { address, tls, apiKey, metadata } = connectionOptions;
    if (address === undefined) throw new Error('the profile has no address');
    const security = {
      ...(tls === undefined ? {} : { tls }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(metadata === undefined ? {} : { metadata }),
    };
    return { address, namespace: namespace ?? 'default', security };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TemporalConnectionError(
      `The TEMPORAL_* settings cannot be used: ${reason}. Check TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE, ` +
        'and the files that TEMPORAL_TLS_*_PATH name.',
      { cause: error, unavailable: false },
    );
  }
}
