/** The dev server cannot be started; the message says why and what to do. */
export class DevServerError extends Error {
  override readonly name = 'DevServerError';
}
