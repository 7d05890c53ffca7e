/**
 * Preload (`node --import`) that ends the product at a named point of contracts/crash-point.ts. Two ways to say when:
 * EVERTHREAD_TEST_CRASH=in-migration:3 kills this process when the point is reached for the third time;
 * EVERTHREAD_TEST_CRASH_FOLDER=/tmp/x kills whichever process is the first to reach the point of a file that is put there
 * while it runs, `after-commit@some-thread` (that thread only) or `after-sweep@` (any). The file goes as the process dies.
 * EVERTHREAD_TEST_BUILD is the folder of the build that is run, when it is not this one.
 * `in-workflow-task@` is one more point of the second kind. `in-migration:3:pause`, or a file that says `pause`, stops the process with SIGSTOP until somebody sends SIGCONT.
 */
import { readFileSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMainThread, parentPort } from 'node:worker_threads';

const { EVERTHREAD_TEST_CRASH: once, EVERTHREAD_TEST_CRASH_FOLDER: folder } = process.env;

// Worker threads (the SDK runs workflows in some) load this too; the points are those of the main thread.
if (!isMainThread && folder !== undefined) endInWorkflowTask(byFile(folder));
if (isMainThread && (once !== undefined || folder !== undefined)) {
  const build = path.resolve(process.env.EVERTHREAD_TEST_BUILD ?? '.', 'dist');
  const points = pathToFileURL(path.join(build, 'contracts/crash-point.js')).href;
  const { armCrashPoints } = await import(points);
  armCrashPoints(once === undefined ? byFile(folder) : byCount(once));
}

function end(how) {
  process.kill(process.pid, how === 'pause' ? 'SIGSTOP' : 'SIGKILL');
}

function byCount(wanted) {
  const [point, times = '1', how] = wanted.split(':');
  let left = Number(times);
  return (reached) => {
    if (reached === point && --left === 0) end(how);
  };
}

function byFile(where) {
  return (point, thread = '') => {
    for (const name of new Set([`${point}@${thread}`, `${point}@`])) {
      try {
        const file = path.join(where, name);
        const how = readFileSync(file, 'utf8').trim();
        unlinkSync(file); // of several processes only one succeeds
        end(how);
      } catch {
        // Not armed, or somebody else was first.
      }
    }
  };
}

/** The point that no code of ours can have, since workflow code is sealed off: a workflow task is taken and not answered. */
function endInWorkflowTask(reached) {
  const listen = parentPort.on.bind(parentPort);
  parentPort.on = (event, listener) =>
    listen(event, (message) => {
      if (message?.input?.type === 'activate-workflow') reached('in-workflow-task');
      return listener(message);
    });
}
