import type { ClientInterceptors } from '@temporalio/client';
import type { NativeConnectionOptions } from '@temporalio/worker';
import { graphAttribute, tenantAttribute } from '../contracts/protocol.js';

/** A Temporal server to connect to: address, namespace and credentials. */
export interface TemporalSettings {
  /** `host:port`. */
  readonly address: string;
  readonly namespace: string;
  /** TLS, API key and headers as the SDK takes them; empty for a server without any. */
  readonly security: Pick<NativeConnectionOptions, 'tls' | 'apiKey' | 'metadata'>;
  /** What stands around each call of the client; none unless given. */
  readonly interceptors?: ClientInterceptors;
}

/** The dev server that `everthread dev` runs as its child. */
export interface DevServerSettings {
  /** The CLI that `resolveTemporalCli` found. */
  readonly cliPath: string;
  /** gRPC port (`EVERTHREAD_TEMPORAL_PORT`); 0 picks a free one. */
  readonly port: number;
  /** Web UI port (`EVERTHREAD_TEMPORAL_UI_PORT`); 0 picks a free one. */
  readonly uiPort: number;
  /** Database file; `undefined` keeps all in memory. Its folder is made when missing. */
  readonly dbFile: string | undefined;
  /** The server's output goes here. */
  readonly logFile: string;
  /**
   * Remembers the running server, so that the next start finds one that outlived a `kill -9` of ours.
   * Default: beside the database file; without both, an orphan is not found.
   */
  readonly pidFile?: string | undefined;
  readonly namespace: string;
  /** Without the Web UI; saves 0.1 s and a port. */
  readonly headless?: boolean | undefined;
  /** Keyword search attributes to register. Default: those of Everthread. */
  readonly searchAttributes?: readonly string[] | undefined;
  /** Settings of the server itself, as JSON. */
  readonly dynamicConfig?: Readonly<Record<string, string>> | undefined;
  /** Gives what waits for a worker out tenant by tenant (Q4); off only to measure what that is worth. */
  readonly fairness?: boolean | undefined;
  /** Called when the server's process has been started: from now on it boots by itself. */
  readonly onSpawn?: (() => void) | undefined;
  /** Called once when the server ends without having been stopped by us. */
  readonly onExit?: ((reason: string) => void) | undefined;
}

/** Keyword search attributes of a thread's workflow, by which the Web UI filters. */
export const searchAttributeNames = [tenantAttribute, graphAttribute] as const;
