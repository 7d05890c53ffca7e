export const graph = undefined;
throw new Error('cannot reach the other system');
