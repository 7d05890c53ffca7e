/** Routes about the gateway itself. */
import type { Request, Response } from 'express';
import type { Gateway } from '../gateway.js';
import { unavailable } from '../problem.js';
import { openApiJson } from '../openapi.js';

export function health(_gateway: Gateway, _req: Request, res: Response): void {
  res.json({ status: 'ok' });
}

/** Longer than a healthy answer takes, shorter than a balancer waits. */
const readyMs = 3_000;

/** Names what is not ready: `database`, `temporal`, in dev `worker`; `gateway` when it closes. */
export async function ready(gateway: Gateway, _req: Request, res: Response): Promise<void> {
  const [database, others] = await Promise.all([
    bounded(
      gateway.storage.ping().then(() => []),
      ['database'],
    ),
    bounded(gateway.ready(), ['temporal']),
  ]);
  const missing = [...(gateway.closing.aborted ? ['gateway'] : []), ...database, ...others];
  if (missing.length > 0) {
    throw unavailable(`Not ready: ${missing.join(', ')}.`, { not_ready: missing });
  }
  res.json({ status: 'ready' });
}

export function openApi({ settings }: Gateway, _req: Request, res: Response): void {
  res.type('application/json').send(openApiJson(settings.messageChars));
}

/** What the look says, or `otherwise` when it fails or does not end. */
async function bounded(
  look: Promise<readonly string[]>,
  otherwise: readonly string[],
): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), readyMs);
  });
  try {
    return await Promise.race([look.catch(() => otherwise), late]);
  } finally {
    clearTimeout(timer);
  }
}
