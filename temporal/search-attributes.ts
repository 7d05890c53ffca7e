import type { NativeConnection } from '@temporalio/worker';
import { grpcCode, grpcCodeOf } from './errors.js';
import { searchAttributeNames } from './settings.js';

/** `IndexedValueType` of the server's API. */
const keyword = 2;

/**
 * Registers the search attributes of a thread's workflow in a namespace that lacks them (an existing dev database
 * lacks them: the dev server registers them only when it makes the namespace).
 * A cluster may take a minute until a new one can be used: see `isSearchAttributeUnknown`.
 * @returns false if the server does not let us, so that workflows must start without them
 */
export async function ensureSearchAttributes(
  connection: Pick<NativeConnection, 'operatorService'>,
  namespace: string,
): Promise<boolean> {
  const { operatorService } = connection;
  try {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    if (searchAttributeNames.some((name) => (customAttributes[name] ?? keyword) !== keyword))
      return false; // the name is taken by an attribute of another type
    const missing = searchAttributeNames.filter((name) => customAttributes[name] === undefined);
    if (missing.length === 0) return true;
    const searchAttributes = Object.fromEntries(missing.map((name) => [name, keyword]));
    await operatorService.addSearchAttributes({ namespace, searchAttributes });
    return true;
  } catch (error) {
    const code = grpcCodeOf(error);
    if (code === grpcCode.alreadyExists) return true; // another process was faster
    if (code !== undefined && refusals.has(code)) return false;
    throw error;
  }
}

/** No permission, no operator service (Temporal Cloud), or no slot left for another Keyword. */
const refusals: ReadonlySet<number> = new Set([
  grpcCode.permissionDenied,
  grpcCode.unauthenticated,
  grpcCode.unimplemented,
  grpcCode.invalidArgument,
]);
