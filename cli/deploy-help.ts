/** Texts of `everthread deploy --help`. */
export const deployment = 'the worker deployment (default: EVERTHREAD_DEPLOYMENT, else everthread)';
export const buildId = 'the build (default: EVERTHREAD_BUILD_ID)';

const settings = `
Settings:
  TEMPORAL_ADDRESS                     host:port of the Temporal server; also TEMPORAL_NAMESPACE,
                                       TEMPORAL_API_KEY, TEMPORAL_TLS_* and TEMPORAL_PROFILE
  EVERTHREAD_TASK_QUEUE                as of the workers (everthread)`;

export const deploy = `
For workers that were started with --build-id. Temporal sends turns to the workers of the current
build, and a share of the threads to those of the ramping one. A thread's next turn goes where its
thread is sent then; a turn that runs ends where it runs. Every command may be repeated.

A rolling upgrade:
  everthread worker --build-id B             beside the workers of build A, as many as you need
  everthread deploy ramp --build-id B --percent 10
  everthread deploy current --build-id B
  everthread deploy wait --build-id A        then stop A's workers
Back again, for as long as A's workers run:
  everthread deploy current --build-id A
`;

export const ls = `
TURNS are those that run now on workers of the build; they are counted in EVERTHREAD_POSTGRES_URL,
when it is set. WORKERS are processes that ask Temporal for tasks; one that was killed stays in the
list for a minute. A build may be stopped when it is drained and has no turns.

Example:
  $ everthread deploy ls
  BUILD  STATUS       WORKERS  TURNS
  B      ramping 10%  2        1
  A      current      2        14
${settings}
  EVERTHREAD_POSTGRES_URL              the database`;

export const current = `
Waits until Temporal has seen the build's workers and every task queue has heard of the change.
Refuses a build that no worker runs: turns would be accepted and wait. Turns that run on the build
before end there.

Examples:
  everthread deploy current --build-id B
  everthread deploy current --unversioned    back to workers without a build id
${settings}`;

export const ramp = `
A thread is always on the same side of a share, and with a larger share it stays with the build.

Examples:
  everthread deploy ramp --build-id B --percent 10
  everthread deploy ramp --build-id B --percent 0
${settings}`;

export const wait = `
Waits until the build is neither current nor ramping, Temporal calls it drained, and no turn runs on
it. Then its workers may be stopped without anybody noticing. Exit code 1 when the time is over.

Example:
  everthread deploy wait --build-id A && systemctl stop everthread-worker@A
${settings}
  EVERTHREAD_POSTGRES_URL              the database, which knows what runs`;
