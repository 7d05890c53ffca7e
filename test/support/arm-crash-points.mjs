// Preload (`node --import`) that ends or freezes the product at a named point: EVERTHREAD_TEST_CRASH=after-commit:3 kills it
// when the point is reached for the third time, `after-commit:1:pause` stops it with SIGSTOP until somebody sends SIGCONT.
import { isMainThread } from 'node:worker_threads';

const wanted = process.env.EVERTHREAD_TEST_CRASH;
// Worker threads (the SDK's for workflows among them) run preloads too; the points are those of the main thread.
if (wanted !== undefined && isMainThread) {
  const [point, times = '1', how = 'kill'] = wanted.split(':');
  const { armCrashPoints } = await import('../../dist/contracts/crash-point.js');
  let left = Number(times);
  armCrashPoints((reached) => {
    if (reached !== point) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, how === 'pause' ? 'SIGSTOP' : 'SIGKILL');
  });
}
