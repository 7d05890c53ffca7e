/** Routes that bring, show or cancel turns. */
import type { Request, Response } from 'express';
import { z } from 'zod';
import { reachCrashPoint } from '../../contracts/crash-point.js';
import type { CallConfig } from '../../contracts/call-config.js';
import { callConfigOf, type CallFields } from '../../contracts/call.schema.js';
import {
  chatRequestSchema,
  type InvokeReply,
  invokeRequestSchema,
  type TurnRequest,
  turnRequestSchema,
} from '../../contracts/http.schema.js';
import type { RunInput } from '../../contracts/turn-input.js';
import type { AskedThread, TurnRecord } from '../../storage/port.js';
import { parseBody } from '../body.js';
import type { Gateway } from '../gateway.js';
import { longBytes } from '../long-reply.js';
import { listenTo, postTurn } from '../post-turn.js';
import { Problem } from '../problem.js';
import { note } from '../request.js';
import { streamTurn } from '../stream.js';
import { modesAsked, streamAskOf } from '../stream-ask.js';
import { tellMoved } from '../tell-moved.js';
import { singleHeader } from '../thread-id.js';
import { replyJson, verdictOf } from '../turn-reply.js';
import { pathThread } from './path-thread.js';

export async function createTurn(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const body = parseBody(turnRequestSchema, req);
  await postTurn(gateway, req, res, {
    ids: { path: String(req.params.thread) },
    input: {
      ...{ ...inputOf(body), ...userOf(body), ...callOf(body) },
      ...(body.from_version !== undefined && { fromVersion: body.from_version }),
    },
    graph: body.graph,
    multitask: body.multitask,
    ifVersion: body.if_version,
    streamed: body,
    render: replyJson,
  });
}

export async function chat(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const body = parseBody(chatRequestSchema, req);
  await postTurn(gateway, req, res, {
    ids: { body: body.thread_id },
    input: { kind: 'message', text: body.message, ...userOf(body), ...callOf(body) },
    graph: body.graph,
    multitask: body.multitask,
    ifVersion: body.if_version,
    streamed: body,
    render: replyJson,
  });
}

export async function invokeAgent(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const body = parseBody(invokeRequestSchema, req);
  await postTurn(gateway, req, res, {
    ids: {},
    input: { kind: 'message', text: body.user_input },
    render: invokeReply,
  });
}

/** Any turn as it is: to have failed is no failure of the GET. */
export async function showTurn(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const { turns } = gateway.storage;
  const turn = await findTurn(gateway, req, res, (thread, id) => turns.get(thread, id));
  if (turn.status === 'aborted') throw problemOf(turn);
  res.type('application/json').send(replyJson(turn));
}

/** Joins or resumes a turn's stream; never starts work. */
export async function joinTurn(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const modes = modesAsked(streamAskOf(req.query));
  const glance = await findTurn(gateway, req, res, (thread, turnId) =>
    gateway.storage.turns.glance(thread, turnId, longBytes),
  );
  const { turn } = glance;
  const lastEventId = singleHeader(req, 'last-event-id');
  if (verdictOf(turn) === undefined) await listenTo(gateway, turn, modes);
  streamTurn(gateway, res, { glance, fresh: false, lastEventId, modes });
}

/** P6: the transaction settles the turn; whoever runs or awaits it sees the row. */
export async function cancelTurn(gateway: Gateway, req: Request, res: Response): Promise<void> {
  if (req.body !== undefined) parseBody(z.strictObject({}), req);
  const thread = await pathThread(gateway, req, res, 'update');
  const outcome = await gateway.storage.turns.cancel(thread, turnIdOf(req, res));
  switch (outcome.kind) {
    case 'not_found':
      throw unknownTurn();
    case 'already_settled':
      if (outcome.turn.status === 'aborted') throw problemOf(outcome.turn);
      if (outcome.turn.status !== 'cancelled') {
        throw new Problem('turn_settled', `The turn is already ${outcome.turn.status}.`, {
          thread_id: thread.threadId,
          turn_id: outcome.turn.turnId,
        });
      }
      break;
    case 'cancelled':
      reachCrashPoint('after-cancel', thread.threadId);
      tellMoved(gateway, [outcome.turn]);
  }
  res.type('application/json').send(replyJson(outcome.turn));
}

const userOf = ({ user_id }: { readonly user_id?: string | undefined }) =>
  user_id === undefined ? {} : { userId: user_id };

function callOf(body: CallFields): { readonly call?: CallConfig } {
  const call = callConfigOf(body);
  return call === undefined ? {} : { call };
}

function inputOf(body: TurnRequest): RunInput {
  if (body.message !== undefined) return { kind: 'message', text: body.message };
  if (body.command !== undefined) {
    return Object.hasOwn(body.command, 'resume')
      ? { kind: 'resume', value: body.command.resume }
      : { kind: 'input', value: null };
  }
  // The key counts, not its value: `{"resume": null}` passes a static breakpoint (DESIGN 15.7).
  return Object.hasOwn(body, 'resume')
    ? { kind: 'resume', value: body.resume }
    : { kind: 'input', value: body.input };
}

function invokeReply(turn: TurnRecord): string {
  const reply: InvokeReply = {
    status: turn.status === 'interrupted' ? 'interrupted' : 'success',
    thread_id: turn.thread.threadId,
    agent_response: turn.response,
  };
  return JSON.stringify(reply);
}

async function findTurn<T>(
  gateway: Gateway,
  req: Request,
  res: Response,
  read: (thread: AskedThread, turnId: string) => Promise<T | undefined>,
): Promise<T> {
  const thread = await pathThread(gateway, req, res);
  const turn = await read(thread, turnIdOf(req, res));
  if (turn === undefined) throw unknownTurn();
  return turn;
}

function turnIdOf(req: Request, res: Response): string {
  const id = String(req.params.turn);
  if (!/^[A-Za-z0-9-]{1,64}$/.test(id)) throw unknownTurn();
  note(res, { turn: id });
  return id;
}

const unknownTurn = (): Problem => new Problem('not_found', 'There is no such turn.');

function problemOf(turn: TurnRecord): Problem {
  const verdict = verdictOf(turn);
  return verdict?.kind === 'problem' ? verdict.problem : unknownTurn();
}
