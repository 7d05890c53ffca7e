/** Texts of `--help`. */
export const summary = 'LangGraph.js agents as durable Temporal threads.';
export const allowRemote =
  "let HOST be an address that other machines can reach (nobody is asked who he is but by a project's auth)";

export const buildId =
  'the build of this worker: it takes turns once "everthread deploy current" names it';
export const taskQueue =
  'serve these task queues of langgraph.json only: main (default), a name in it, or all';
export const queueRate =
  'most turns that a task queue of langgraph.json gives out in a second, over all workers; none ends it';
export const tenantWeight =
  'share of a tenant when turns wait for a worker (1); none gives it the usual one';
export const deployment = 'the worker deployment that the build belongs to (default: everthread)';

export const everthread = `
First steps:
  everthread init my-agent             a new project
  everthread doctor                    what of an existing project works here
  everthread dev                       everything in one process, nothing else to install
  everthread chat                      talk to it from another terminal

On several hosts (PostgreSQL and a Temporal cluster):
  everthread setup                     once per Temporal cluster
  everthread migrate                   once per version
  everthread gateway                   as many as you like
  everthread worker                    as many as you like
  everthread deploy                    which build of the workers takes the turns

Looking after threads and their store:
  everthread threads ls                which there are; also show, tail, cancel, delete, retry
  everthread fsck                      is everything in order? --repair mends what it can
  everthread backup FILE               a copy of a SQLite store, also while it runs
  everthread restore FILE              the copy in its place

Settings are environment variables; each command's --help names those that matter to it.`;

const graphsAndModel = `  EVERTHREAD_CONFIG                    langgraph.json of the graphs to serve
                                       (default: the one here, else the shipped graphs)
  EVERTHREAD_MODEL                     builtin (default), or provider:model such as
                                       openai:gpt-5-mini, with the provider's own variables
                                       (OPENAI_API_KEY, OPENAI_BASE_URL, ...)`;

const agents = `  EVERTHREAD_CONTEXT_BUDGET            most tokens of one request of a shipped agent (16000)
  EVERTHREAD_SUMMARY_MODEL             summarises long threads (EVERTHREAD_MODEL)
  EVERTHREAD_MAX_STEPS                 model calls of one turn (15); also EVERTHREAD_TURN_TOKENS, and
                                       EVERTHREAD_TURN_COST with EVERTHREAD_MODEL_PRICES`;

const cluster = `  EVERTHREAD_POSTGRES_URL              postgresql://user:password@host:5432/database
  EVERTHREAD_POSTGRES_POOL             most connections (10)
  TEMPORAL_ADDRESS                     host:port of the Temporal server; also TEMPORAL_NAMESPACE,
                                       TEMPORAL_API_KEY, TEMPORAL_TLS_* and TEMPORAL_PROFILE,
                                       as the Temporal CLI takes them
  EVERTHREAD_TASK_QUEUE                the same for gateways and workers (everthread)`;

const times = `  EVERTHREAD_TURN_TIMEOUT              deadline of a turn (10m)
  EVERTHREAD_STEP_TIMEOUT              deadline of one superstep (5m)
  EVERTHREAD_THREAD_IDLE               a thread's workflow sleeps after this, or never (10m)
  EVERTHREAD_CACHED_THREADS            threads whose workflow a worker keeps in memory (500)
  EVERTHREAD_ISOLATION_THREADS         threads for graphs with "isolation": "thread" (one per core)
  EVERTHREAD_ISOLATION_MEMORY          heap of each of them in MB (Node's own limit)
  EVERTHREAD_METRICS_PORT              Prometheus metrics (off); also EVERTHREAD_METRICS_HOST
  LOG_LEVEL                            trace, debug, info, warn, error, fatal, silent (info)`;

export const dev = `
Starts a Temporal dev server (or uses TEMPORAL_ADDRESS), opens the storage, serves HTTP and runs
turns. Fetches the Temporal CLI the first time, when none is installed. Prints where to find the
gateway and the Temporal Web UI. Ctrl-C stops everything; the next start finds all threads again.
Variables may stand in a .env file of the working directory; those that are set already win.

Examples:
  everthread dev
  PORT=9000 EVERTHREAD_MODEL=openai:gpt-5-mini OPENAI_API_KEY=... everthread dev
  EVERTHREAD_CONFIG=../my-agent/langgraph.json everthread dev

Settings:
  HOST, PORT                           of the gateway (127.0.0.1, 8080; port 0 picks a free one)
  EVERTHREAD_STORAGE                   sqlite (default), memory (lost at exit), postgres
  EVERTHREAD_DATA                      folder of databases and logs (./.everthread)
${graphsAndModel}
${agents}
  EVERTHREAD_TEMPORAL_CLI              a Temporal CLI to use
  EVERTHREAD_TEMPORAL_PORT, EVERTHREAD_TEMPORAL_UI_PORT
                                       of the Temporal dev server (7233, 8233)
  TEMPORAL_ADDRESS                     an existing Temporal server instead
${times}`;

export const gateway = `
Takes turns over HTTP and shows their replies; workers run them. Needs PostgreSQL, migrated by
"everthread migrate", and a Temporal server. SIGTERM lets open requests end first.

Example:
  EVERTHREAD_POSTGRES_URL=postgresql://me:secret@db/everthread TEMPORAL_ADDRESS=temporal:7233 \\
    everthread gateway

Settings:
  HOST, PORT                           127.0.0.1, 8080
  EVERTHREAD_ALLOW_REMOTE              true does the same as --allow-remote
${cluster}
${graphsAndModel}
  EVERTHREAD_METRICS_PORT              Prometheus metrics (off); also EVERTHREAD_METRICS_HOST
  LOG_LEVEL                            trace, debug, info, warn, error, fatal, silent (info)`;

export const worker = `
Runs the turns of threads. Needs PostgreSQL, migrated by "everthread migrate", and a Temporal
server. SIGTERM hands running turns over to other workers at the next superstep border. With a build
id it gets turns only while its build is current or ramping; see "everthread deploy".

Example:
  EVERTHREAD_POSTGRES_URL=postgresql://me:secret@db/everthread TEMPORAL_ADDRESS=temporal:7233 \\
    EVERTHREAD_CONFIG=./langgraph.json everthread worker

Settings:
${cluster}
  EVERTHREAD_BUILD_ID                  the same as --build-id; also EVERTHREAD_DEPLOYMENT
  EVERTHREAD_WORKER_QUEUES             the same as --task-queue, with commas: main,gpu
  EVERTHREAD_TURNS_AT_ONCE             turns that run at once, of each task queue (200)
${graphsAndModel}
${agents}
${times}`;

export const migrate = `
Applies what is missing, all or nothing; safe to run again and from several places at once.
Gateway and worker refuse to start on a schema of another version. "everthread dev" migrates by
itself.

Example:
  EVERTHREAD_POSTGRES_URL=postgresql://me:secret@db/everthread everthread migrate

Settings:
  EVERTHREAD_POSTGRES_URL              the database; when unset, the SQLite file of
  EVERTHREAD_DATA                      ./.everthread
  EVERTHREAD_STORAGE                   postgres or sqlite, when both could be meant`;

export const setup = `
Makes the namespace with a retention, and the search attributes by which the Temporal Web UI filters
threads. Safe to run again and from several places at once: what is there stays; a namespace that
exists keeps its retention unless --retention is given. Waits two minutes for a server that is
not there yet. A cluster that does not let us register search attributes serves threads without them.

Example:
  TEMPORAL_ADDRESS=temporal:7233 TEMPORAL_NAMESPACE=everthread everthread setup --retention 3d
  TEMPORAL_ADDRESS=temporal:7233 everthread setup --queue-rate gpu=5 --tenant-weight acme=3

Settings:
  TEMPORAL_ADDRESS                     host:port of the Temporal server
  TEMPORAL_NAMESPACE                   the namespace (default)
  TEMPORAL_API_KEY, TEMPORAL_TLS_*     also TEMPORAL_PROFILE, as the Temporal CLI takes them`;

const store = `  EVERTHREAD_POSTGRES_URL              the database; when unset, the SQLite file of
  EVERTHREAD_DATA                      ./.everthread
  EVERTHREAD_STORAGE                   postgres or sqlite, when both could be meant`;

export const fsck = `
Checks what must always hold (docs/SPEC.md): counters, versions, heads, keys, leftovers, whether the
stored state can be read, and, when TEMPORAL_ADDRESS is set, whether somebody runs each unsettled turn.
Safe beside running processes: each thread is read in one transaction. --repair works on PostgreSQL
beside running processes, too; a SQLite file's process must be stopped first. It never makes data up:
what only a backup can bring back stays, and is said.

Exit code: 0 nothing found (warnings do not count), 1 something is wrong, 2 it could not be checked.

Examples:
  everthread fsck
  EVERTHREAD_POSTGRES_URL=postgresql://me:secret@db/everthread TEMPORAL_ADDRESS=temporal:7233 \\
    everthread fsck --repair

Settings:
${store}
  TEMPORAL_ADDRESS                     also TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*`;

export const backup = `
Copies the store as it stands at one moment, by SQLite's online backup: the process that owns it goes
on meanwhile. The copy is checked, then appears under its name. PostgreSQL: docs/OPERATIONS.md.

Example:
  everthread backup backups/monday.db

Settings:
  EVERTHREAD_DATA                      folder of the SQLite file (./.everthread)
  EVERTHREAD_SQLITE_PATH               the file itself`;

export const restore = `
Puts the backup in the place of the SQLite file, which is kept aside. The process that owns the file
must be stopped. The restored store gets a new id: workflows of the lost time end by themselves and
change nothing, and turns that were unsettled at the backup's time run again.
For PostgreSQL: stop gateways and workers, restore with PostgreSQL's own tools, then run it with
--in-place, then start them again (docs/OPERATIONS.md).

Examples:
  everthread restore backups/monday.db
  EVERTHREAD_POSTGRES_URL=postgresql://me:secret@db/everthread everthread restore --in-place

Settings:
${store}`;

export const chat = `
Talks to a running gateway ("everthread dev", or "npm start") over HTTP. Each line is a turn. A
turn goes on by itself when this program ends: come back with --thread.

  Ctrl-C during a reply                leave the turn running; Ctrl-C again cancels it
  Ctrl-D, or Ctrl-C at the prompt      end

When the graph asks something, the next line answers it: as JSON if it is JSON (true, 42,
{"approve": true}), else as text. With input from a pipe each line is a turn, and only replies
go to standard output.

Examples:
  everthread chat
  everthread chat --thread 5f0c...     the same thread again, with what was said so far
  everthread chat "What is 12 * 7?"    one reply, then exit
  cat questions.txt | everthread chat

Settings:
  HOST, PORT                           of the gateway, without --url (127.0.0.1, 8080)
  EVERTHREAD_AUTHORIZATION             sent as the Authorization header, for a project with auth
  NO_COLOR                             no colours`;

export const temporalPath = `
The path is the last line of standard output; progress goes to standard error.

Example:
  $(everthread temporal path) workflow list

Settings:
  EVERTHREAD_TEMPORAL_CLI              a Temporal CLI to use; else "temporal" on PATH, else one
                                       that was fetched before, else it is fetched`;

export const init = `
Writes a graph, its test, langgraph.json and package.json. Nothing is installed and nothing is
overwritten. Run from a checkout of Everthread, it makes a project that is linked to that checkout.

Examples:
  everthread init my-agent
  everthread init my-agent --from ./everthread-0.1.0.tgz`;

export const doctor = `
Reads langgraph.json, loads its graphs as "everthread dev" would, and says what will work, with the
versions of LangGraph that it finds. Exit code 1 when something will not work. With TEMPORAL_ADDRESS
(and EVERTHREAD_TASK_QUEUE) also who serves each task queue that its graphs live on.

Examples:
  everthread doctor
  everthread doctor ../my-agent --json`;
