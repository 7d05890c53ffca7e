import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar';
import { z } from 'zod';
import { installFetched, verifySha256 } from './cli-cache.js';
import { cliFileName, platformKey } from './cli-release.js';
import { refused } from './cli-routes.js';
import type { RouteOutcome, RouteSearch } from './cli-routes.js';

/** The service answers in well under a second; a machine without internet must get to the next route quickly. */
const answerLimitMs = 4_000;

/** A download that brings nothing for so long has been cut. */
const stallLimitMs = 15_000;

/** Fetches the official archive of the pinned release, checks its digest and keeps the CLI in the cache. */
export async function fetchOfficial(search: RouteSearch): Promise<RouteOutcome> {
  const { release, downloadOrigin, onProgress } = search;
  const remedy = `Let this machine reach ${new URL(downloadOrigin).host}`;
  const sha256 = release.archives[platformKey()];
  if (sha256 === undefined)
    return refused(`no archive is pinned for ${platformKey()}`, 'Install the CLI yourself');

  return installFetched(search, remedy, async (folder) => {
    const archive = path.join(folder, 'temporal.tar.gz');
    const url = await archiveUrl(downloadOrigin, release.version);
    onProgress(`Fetching the Temporal CLI ${release.version} from ${new URL(downloadOrigin).host}`);
    await download(url, archive, onProgress);
    await verifySha256(archive, sha256, 'the archive');
    await extract({ file: archive, cwd: folder, filter: (name) => name === cliFileName });
    return path.join(folder, cliFileName);
  });
}

const downloadInfo = z.object({ archiveUrl: z.url() });

async function archiveUrl(origin: string, version: string): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const query = new URLSearchParams({ platform, arch, format: 'tar.gz' });
  const answer = await fetch(`${origin}/cli/v${version}?${query.toString()}`, {
    signal: AbortSignal.timeout(answerLimitMs),
  });
  if (!answer.ok) throw new Error(`${new URL(origin).host} answered ${answer.status}`);
  return downloadInfo.parse(await answer.json()).archiveUrl;
}

async function download(
  url: string,
  file: string,
  onProgress: (text: string) => void,
): Promise<void> {
  const stalled = new AbortController();
  const timer = setTimeout(
    () => stalled.abort(new Error(`nothing came for ${stallLimitMs / 1000} s`)),
    stallLimitMs,
  );
  try {
    const answer = await fetch(url, { signal: stalled.signal });
    if (!answer.ok || answer.body === null)
      throw new Error(`${new URL(url).host} answered ${answer.status}`);
    const total = Number(answer.headers.get('content-length') ?? 0);
    const meter = progressMeter(total, onProgress, () => timer.refresh());
    await pipeline(Readable.fromWeb(answer.body), meter, createWriteStream(file));
  } finally {
    clearTimeout(timer);
  }
}

/** Says at each fifth of the way how far the download is. */
function progressMeter(
  totalBytes: number,
  onProgress: (text: string) => void,
  onChunk: () => void,
): Transform {
  let bytes = 0;
  let said = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      onChunk();
      bytes += chunk.length;
      const fifths = totalBytes > 0 ? Math.floor((5 * bytes) / totalBytes) : 0;
      if (fifths > said) {
        said = fifths;
        onProgress(`Temporal CLI: ${fifths * 20} % of ${Math.round(totalBytes / 1e6)} MB`);
      }
      done(null, chunk);
    },
  });
}
