/**
 * Loading a project moves a process into its folder, and test files share processes: each begins where the repository is.
 */
import path from 'node:path';

process.chdir(path.resolve(import.meta.dirname, '../..'));
