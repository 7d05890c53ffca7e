import { describeStorage } from '../config/storage.js';
import { devBanner } from './banner.js';
import { startDev } from './dev.js';
import { serve } from './serve.js';

/** `everthread dev`: everything in this process until it is stopped. @returns the exit code */
export const dev = (flags: { readonly allowRemote?: boolean }): Promise<number> =>
  serve({
    command: 'dev',
    allowRemote: flags.allowRemote,
    start: ({ config, log, say }) => startDev(config, { log, onProgress: say }),
    onReady({ ready }, { config, colors }) {
      const { storage, model } = config;
      const lines = devBanner({ ...ready, model, storage: describeStorage(storage) }, colors);
      process.stdout.write(`${lines.join('\n')}\n`);
    },
  });
