/** Texts of `everthread threads … --help`. */
const settings = `
Settings:
  HOST, PORT                           of the gateway, when --url is not given (127.0.0.1, 8080)
  EVERTHREAD_AUTHORIZATION             sent as the Authorization header, for a project with auth
  NO_COLOR                             no colours on a terminal`;

export const url = 'the gateway (default: the one that HOST and PORT name)';

export const threads = `
Looks after threads over a gateway's HTTP API. Exit code: 0 done, 1 not, 2 called wrongly.

Examples:
  everthread threads ls --status busy
  everthread threads show my-thread
  everthread threads tail my-thread --follow
  everthread threads retry my-thread
${settings}`;

export const ls = `
Newest first. busy: a turn runs or waits; interrupted: a person is asked; idle: neither. With --json
one thread per line, as GET /v1/threads shows them.

Examples:
  everthread threads ls
  everthread threads ls --status busy --graph agent
  everthread threads ls --limit 10000 --json | jq -r 'select(.turn.attempts > 3).thread_id'`;

export const show = `
The thread, the turn that runs or is next, and the newest turns that changed it. Never what was said.

Example:
  everthread threads show my-thread`;

export const tail = `
Shows the running turn as it streams, then those that wait behind it. Watching changes nothing, and
Ctrl-C ends only the watching. With --json the events of the streams, one per line.

Examples:
  everthread threads tail my-thread
  everthread threads tail my-thread --follow`;

export const cancel = `
Cancels the turn that runs or is next, or the one that is named. What the thread had committed stays.

Examples:
  everthread threads cancel my-thread
  everthread threads cancel my-thread 0199b2c4-8a4e-4c1b-9d53-0d6f6f0a7a10`;

export const remove = `
Erases the thread and all it holds: there is no way back but a backup (docs/OPERATIONS.md).

Example:
  everthread threads delete my-thread --yes`;

export const retry = `
Has Temporal look at the thread again, opening its workflow when there is none. Harmless when nothing
is wrong: a turn is never run twice. The sweeper does the same by itself within half a minute, unless
no worker runs.

Example:
  everthread threads retry my-thread`;

export const reset = `
The state that the version left becomes a new version: later turns go on from there, the history keeps all.
It runs in the order of the thread's turns, and also where the graph cannot load the newest state.
A version that waited for an answer waits for it again.

Examples:
  everthread threads show my-thread
  everthread threads reset-to my-thread --version 7`;
