import { until } from '../support/until.js';
import type { GatewayProc } from './fleet.js';

/** Clients on six threads that post turn after turn, each to any gateway that runs, with a key, until it is answered. */
export function traffic(gateways: readonly GatewayProc[], threads: string) {
  const answers = new Map<string, string>();
  let going = true;
  const insist = async (thread: string, n: number): Promise<void> => {
    const message = `delay=40 ${thread} number-${n}.`;
    const text = await until(`an answer to ${message}`, async () => {
      const at = gateways[Math.floor(Math.random() * gateways.length)];
      const answer = await at
        ?.chat(thread, message, { 'idempotency-key': `k${n}` })
        .catch(() => undefined);
      if (answer === undefined || [202, 503].includes(answer.status)) return undefined;
      if (answer.status !== 200) throw new Error(`${message}: ${answer.status} ${answer.text}`);
      return answer.text;
    });
    answers.set(message, text);
  };
  const client = async (thread: string): Promise<void> => {
    for (let n = 1; going; n += 1) await insist(thread, n);
  };
  const clients = Promise.all([1, 2, 3, 4, 5, 6].map((n) => client(`${threads}-${n}`)));
  clients.catch(() => undefined); // told by stop()
  return {
    answers,
    /** Waits until so many more turns are answered. */
    more: (count: number) => {
      const wanted = answers.size + count;
      return Promise.race([
        clients,
        until(`${count} more turns`, () => (answers.size >= wanted ? true : undefined)),
      ]);
    },
    stop: async () => {
      going = false;
      await clients;
    },
  };
}
