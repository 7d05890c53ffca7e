/** A request that brings a turn, whatever its route: accept it, then answer as it asks. */
import type { Request, Response } from 'express';
import { reachCrashPoint } from '../contracts/crash-point.js';
import { type ModeSet, noModes } from '../contracts/stream-modes.js';
import type { Multitask, TurnInput, TurnRecord } from '../storage/port.js';
import { acceptTurn, type AcceptedTurn } from './accept.js';
import { authorizeTurn } from './authorize-turn.js';
import { withCaller } from './call-headers.js';
import type { Gateway } from './gateway.js';
import { idempotencyKey, requestDigest } from './idempotency.js';
import { Problem } from './problem.js';
import { answerMode, note } from './request.js';
import { modesAsked, type StreamAsk } from './stream-ask.js';
import { streamTurn } from './stream.js';
import { namedThreadId, newThreadId, type ThreadIdSources } from './thread-id.js';
import { acceptedReply, turnLocation, verdictOf } from './turn-reply.js';
import { untilSettled } from './wait.js';

export interface TurnAsk {
  readonly ids: ThreadIdSources;
  readonly input: TurnInput;
  readonly graph?: string | undefined;
  readonly multitask?: Multitask | undefined;
  readonly ifVersion?: number | undefined;
  readonly streamed?: StreamAsk | undefined;
  /** The body of a 200. */
  readonly render: (turn: TurnRecord) => string;
}

export async function postTurn(
  gateway: Gateway,
  req: Request,
  res: Response,
  ask: TurnAsk,
): Promise<void> {
  const { storage } = gateway;
  const caller = await gateway.identify(req);
  const { tenant } = caller;
  const key = idempotencyKey(req, storage.kind);
  const threadId = namedThreadId(req, ask.ids) ?? newThreadId(caller, key);
  note(res, { thread: threadId });
  checkGraph(gateway, ask.graph);
  checkLength(gateway, ask.input);
  const mode = answerMode(req);
  const modes = modesAsked(ask.streamed);
  const { input, graph, ifVersion, multitask = 'enqueue' } = ask;
  const thread = { tenant, threadId };
  const accepted = await acceptTurn(gateway, {
    ...(await authorizeTurn(gateway, caller, {
      ...{ thread, input, multitask },
      ...(graph !== undefined && { graph }),
    })),
    thread,
    input: withCaller(input, req, caller),
    multitask,
    digest: requestDigest({ input, graph, multitask, ifVersion }),
    // Who is answered at once may join later, and is then shown what was asked for.
    stream: mode === 'stream' || (mode === 'async' && modes !== noModes),
    modes: mode === 'json' ? noModes : modes,
    ...(graph !== undefined && { graph }),
    ...(ifVersion !== undefined && { ifVersion }),
    ...(key !== undefined && { key }),
  });
  const { turn, attached } = accepted;
  note(res, { turn: turn.turnId });
  const verdict = verdictOf(turn);
  if (attached && verdict !== undefined) res.set('Idempotent-Replayed', 'true');
  if (verdict?.kind === 'problem') throw verdict.problem;
  switch (mode) {
    case 'async':
      await accepted.woken;
      if (verdict !== undefined) sendReply(res, turn, ask.render);
      else sendAccepted(res, turn);
      return;
    case 'stream':
      if (attached && verdict === undefined) await listenTo(gateway, turn, modes);
      streamTurn(gateway, res, { glance: { kind: 'whole', turn }, fresh: !attached, modes });
      return;
    case 'json':
      await answerWhenSettled(gateway, res, accepted, ask.render);
  }
}

/** A stream that joins makes the turn's next superstep produce tokens (DESIGN 15.2); that it fails costs only tokens. */
export async function listenTo(
  { storage, log }: Gateway,
  turn: TurnRecord,
  modes: ModeSet,
): Promise<void> {
  await storage.turns.listen(turn.thread, turn.turnId, modes).catch(() => {
    log.warn({ turn: turn.turnId }, 'cannot mark a turn as listened to');
  });
}

/** @throws Problem when no such graph is served */
export function checkGraph({ graphs }: Gateway, name: string | undefined): void {
  if (name !== undefined && !graphs.names.includes(name)) {
    throw new Problem('not_found', 'Unknown graph: none of that name is served here.');
  }
}

function checkLength({ settings }: Gateway, input: TurnInput): void {
  if (input.kind === 'message' && input.text.length > settings.messageChars) {
    throw new Problem(
      'invalid_request',
      `A message has at most ${settings.messageChars} characters.`,
    );
  }
}

async function answerWhenSettled(
  gateway: Gateway,
  res: Response,
  { turn, woken }: AcceptedTurn,
  render: TurnAsk['render'],
): Promise<void> {
  const { storage, watch, log, closing, settings } = gateway;
  const gone = new AbortController();
  const stop = (): void => gone.abort();
  // Whoever left, was told to come back, or cannot be served now does not hold the wait.
  res.on('close', stop);
  closing.addEventListener('abort', stop, { once: true });
  if (closing.aborted) stop();
  const limit = setTimeout(stop, settings.waitMs);
  void woken.then((taken) => {
    if (!taken) stop();
  });
  try {
    const settled = await untilSettled({ turns: storage.turns, watch, log }, turn, gone.signal);
    if (res.destroyed) return;
    if (settled !== undefined) reachCrashPoint('before-reply', turn.thread.threadId);
    if (settled === undefined) sendAccepted(res, turn);
    else sendReply(res, settled, render);
  } finally {
    clearTimeout(limit);
    closing.removeEventListener('abort', stop);
  }
}

/** @throws Problem when the turn has no reply to give */
function sendReply(res: Response, turn: TurnRecord, render: TurnAsk['render']): void {
  const verdict = verdictOf(turn);
  if (verdict?.kind === 'problem') throw verdict.problem;
  res.type('application/json').send(render(turn));
}

function sendAccepted(res: Response, turn: TurnRecord): void {
  res.status(202).location(turnLocation(turn)).json(acceptedReply(turn));
}
