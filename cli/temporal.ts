import { homedir } from 'node:os';
import { readEnvironment } from '../config/env.js';
import { temporalCliPlaces } from '../config/temporal-cli.js';
import { resolveTemporalCli, temporalCacheFolder } from '../temporal/cli-resolver.js';

/** `everthread temporal path`: the path is the last line of standard output, so that scripts can take it. */
export async function printTemporalPath(): Promise<void> {
  const places = temporalCliPlaces(readEnvironment({ withDotenv: true }));
  const cli = await resolveTemporalCli({
    explicitPath: places.cliPath,
    searchPath: places.searchPath,
    cacheFolder: temporalCacheFolder(places.xdgCacheHome, homedir()),
    onProgress: (text) => void process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${cli.path}\n`);
}
