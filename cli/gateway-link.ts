/** A client of the gateway that a person's command talks to. */
import pc from 'picocolors';
import { createClient, GatewayUnreachable, type EverthreadClient } from '../client/client.js';
import { useColors } from '../config/colors.js';
import { readEnvironment, valueOf } from '../config/env.js';
import { gatewayUrl } from './address.js';

export interface GatewayLink {
  readonly client: EverthreadClient;
  readonly paint: ReturnType<typeof pc.createColors>;
}

export interface LinkOptions {
  /** What `paint` is for; standard output unless given. */
  readonly painted?: NodeJS.WriteStream;
  /** The commands that a person is asked about when no gateway answers. */
  readonly startedBy?: string;
}

/** @throws Error that says what to do when no gateway answers at `given`, or where HOST and PORT lead */
export async function linkGateway(
  given: string | undefined,
  { painted = process.stdout, startedBy = usualStart }: LinkOptions = {},
): Promise<GatewayLink> {
  const env = readEnvironment({ withDotenv: true });
  const url =
    given ?? gatewayUrl(valueOf(env, 'HOST') ?? '127.0.0.1', valueOf(env, 'PORT') ?? 8080);
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new Error(
      given === undefined
        ? `HOST and PORT make ${url}, which is no address.`
        : `--url ${url} is not an http:// or https:// address.`,
    );
  const client = createClient(url, {
    headers: credentials(valueOf(env, 'EVERTHREAD_AUTHORIZATION')),
  });
  try {
    await client.check();
  } catch (error) {
    if (!(error instanceof GatewayUnreachable)) throw error;
    const hint = `Is ${startedBy} running? (--url names another gateway)`;
    throw new Error(`${error.message} ${hint}`, { cause: error });
  }
  return { client, paint: pc.createColors(useColors(env, painted)) };
}

const usualStart = '`everthread dev` or `everthread gateway`';

/** Of a project with its own `auth`. From the environment: what stands in a command line, every user of the machine can read. */
function credentials(authorization: string | undefined): Readonly<Record<string, string>> {
  if (authorization === undefined) return {};
  if (!/^[\x20-\x7e]+$/.test(authorization))
    throw new Error('EVERTHREAD_AUTHORIZATION holds characters that no header may hold.');
  return { authorization };
}
