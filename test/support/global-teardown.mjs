export default async function globalTeardown() {
  await globalThis.everthreadPostgres?.close();
}
