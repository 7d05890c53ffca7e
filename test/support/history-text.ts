/** Everything readable in a workflow history: its JSON, and every payload decoded. */
export function historyText(events: unknown): string {
  const json = JSON.stringify(events);
  const payloads = [...json.matchAll(/"data":"([A-Za-z0-9+/=]+)"/g)];
  return [json, ...payloads.map(([, data = '']) => Buffer.from(data, 'base64').toString())].join(
    '\n',
  );
}
