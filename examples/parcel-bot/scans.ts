/** The depot's scanner: one line for each station that a parcel has passed, with the time at which the line was made. */
import { setTimeout as pause } from 'node:timers/promises';

/** Between two lines; what a small local model takes for a token. */
const scanMs = 300;

const stations = [
  ...['posted in Porto', 'sorted in Lisbon', 'left Lisbon', 'landed in Lyon', 'through customs'],
  ...['sorted in Lyon', 'left Lyon', 'sorted in Ghent', 'out for delivery', 'delivered'],
];

const line = (station: string): string => `${new Date().toISOString()} ${station}\n`;

/** As a native library does it: the call returns when the line is there, and the thread does nothing else until then. */
export function* blockingScans(): Generator<string> {
  const never = new Int32Array(new SharedArrayBuffer(4));
  for (const station of stations) {
    Atomics.wait(never, 0, 0, scanMs);
    yield line(station);
  }
}

/** As a service on the network does it: the thread is free meanwhile. */
export async function* asyncScans(): AsyncGenerator<string> {
  for (const station of stations) {
    await pause(scanMs);
    yield line(station);
  }
}
