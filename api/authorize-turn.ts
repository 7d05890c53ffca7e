/** What a turn may do: a run, which makes the thread that it names if it is not there, or a change of the state (A10). */
import type { ThreadKey } from '../contracts/protocol.js';
import { isEdit, type RunInput } from '../contracts/turn-input.js';
import type { AcceptTurn } from '../storage/port.js';
import { canonicalJson } from '../storage/stored-json.js';
import { authorize, type Allowed } from './authorize.js';
import type { Caller } from './deps.js';
import type { Gateway } from './gateway.js';
import { Problem } from './problem.js';

type Asked = Pick<AcceptTurn, 'thread' | 'input' | 'multitask' | 'graph'>;

/** @throws Problem 403 when a handler refuses */
export async function authorizeTurn(
  gateway: Gateway,
  caller: Caller,
  { thread, input, multitask, graph }: Asked,
): Promise<Pick<AcceptTurn, 'mine' | 'metadataJson'>> {
  if (caller.auth === undefined) return {};
  const { threadId: thread_id } = thread;
  if (isEdit(input)) {
    const { mine } = await authorize(gateway, caller, 'update', { thread_id });
    return { mine };
  }
  if (input.userId !== undefined) ownMemory(caller, input.userId);
  const known = await knownThread(gateway, thread);
  const given = input.call?.metadata ?? {};
  const run = await authorize(gateway, caller, 'create_run', {
    ...{ thread_id, metadata: given, status: 'pending', if_not_exists: 'create' },
    assistant_id: graph ?? known?.graph ?? gateway.graphs.default,
    multitask_strategy: multitask,
    kwargs: kwargsOf(input),
  });
  if (known !== undefined) return { mine: run.mine };
  const made = await authorize(gateway, caller, 'create', { thread_id, if_exists: 'do_nothing' });
  const added = Object.entries(run.metadata).filter(([key, value]) => given[key] !== value);
  return {
    metadataJson: canonicalJson({ ...Object.fromEntries(added), ...made.metadata }),
    mine: both(run.mine, made.mine),
  };
}

const knownThread = ({ storage }: Gateway, thread: ThreadKey) => storage.threads.get(thread);

/** Long-term memory is its user's own. @throws Problem 403 */
export function ownMemory({ auth }: Caller, userId: string): void {
  if (auth !== undefined && auth.identity !== userId)
    throw new Problem('forbidden', 'The memory of a user is his own.');
}

const both = (a: Allowed['mine'], b: Allowed['mine']): Allowed['mine'] =>
  a === undefined || b === undefined ? (a ?? b) : (json) => a(json) && b(json);

/** As far as a handler may want to look into a run: its input and what the caller hands over. */
const kwargsOf = (input: RunInput) => ({
  input:
    input.kind === 'message'
      ? { messages: [{ role: 'user', content: input.text }] }
      : input.kind === 'input'
        ? input.value
        : null,
  ...(input.kind === 'resume' && { command: { resume: input.value } }),
  config: { configurable: input.call?.configurable ?? {}, tags: input.call?.tags ?? [] },
});
