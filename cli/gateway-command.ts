import { startGateway } from './gateway.js';
import { serve } from './serve.js';

/** `everthread gateway`: takes turns over HTTP until it is stopped. @returns the exit code */
export const gateway = (flags: { readonly allowRemote?: boolean }): Promise<number> =>
  serve({
    command: 'gateway',
    allowRemote: flags.allowRemote,
    start: ({ config, log, stopAsked }) => startGateway(config, { log, signal: stopAsked }),
    onReady: ({ url }, { log }) => log.info({ url }, 'gateway is ready'),
  });
