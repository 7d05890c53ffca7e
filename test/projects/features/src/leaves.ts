export const graph = undefined;
process.exit(1);
