/** URL of a gateway that listens on this host and port, as a client on this machine reaches it. */
export function gatewayUrl(host: string, port: number | string): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
