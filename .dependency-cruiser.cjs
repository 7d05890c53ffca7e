/**
 * The import rules of docs/ARCHITECTURE.md. A type-only import never runs, so it may cross a border that a value may not.
 * @type {import('dependency-cruiser').IConfiguration}
 */
const value = { dependencyTypesNot: ['type-only'] };
const npm = (name) => `(^|/)node_modules/${name}(/|$)`;
const layers = (...names) => `^(${names.join('|')})/`;

module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'A cycle of types alone is no cycle at run time.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: value },
    },
    {
      name: 'contracts-stand-alone',
      comment: 'What every process agrees on depends on no process.',
      severity: 'error',
      from: { path: layers('contracts') },
      to: {
        path: layers(
          'workflows',
          'activities',
          'engine',
          'agents',
          'llm',
          'memory',
          'storage',
          'temporal',
          'worker',
          'api',
          'cli',
          'config',
        ),
      },
    },
    {
      name: 'protocol-is-bare',
      comment: 'protocol.ts goes into the workflow bundle, so it imports nothing at run time.',
      severity: 'error',
      from: { path: '^contracts/protocol\\.ts$' },
      to: { ...value },
    },
    {
      name: 'workflows-are-deterministic',
      comment:
        'Workflow code may run @temporalio/workflow and contracts/protocol.ts; everything else only as a type.',
      severity: 'error',
      from: { path: layers('workflows') },
      to: {
        pathNot: ['^workflows/', '^contracts/protocol\\.ts$', npm('@temporalio/(workflow|common)')],
        ...value,
      },
    },
    {
      name: 'client-knows-contracts-alone',
      comment: 'It runs where no server is, in browsers too.',
      severity: 'error',
      from: { path: layers('client') },
      to: { pathNot: ['^(client|contracts)/', npm('eventsource-parser')] },
    },
    {
      name: 'siblings-do-not-reach-up',
      comment:
        'engine, agents, llm, memory and storage can be read without meeting Temporal or HTTP.',
      severity: 'error',
      from: { path: layers('engine', 'agents', 'llm', 'memory', 'storage') },
      to: { path: layers('activities', 'workflows', 'api', 'worker', 'cli', 'temporal') },
    },
    {
      name: 'engine-knows-no-storage',
      severity: 'error',
      from: { path: layers('engine', 'agents', 'llm', 'memory') },
      to: { path: layers('storage'), ...value },
    },
    {
      name: 'memory-is-a-pure-core',
      comment: 'memory is a library: no room of ours and nothing that does I/O.',
      severity: 'error',
      from: { path: layers('memory') },
      to: {
        path: [
          layers('engine', 'agents', 'llm', 'storage', 'config', 'contracts'),
          '^(node:)?(fs|http|https|child_process|worker_threads|timers)(/promises)?$',
        ],
        ...value,
      },
    },
    {
      name: 'only-edges-name-temporal',
      severity: 'error',
      from: {
        pathNot: [
          layers('temporal', 'api', 'worker', 'workflows', 'activities', 'tracing'),
          '^(test|bench|scripts)/',
        ],
      },
      to: { path: npm('@temporalio') },
    },
    {
      name: 'only-storage-names-sql',
      severity: 'error',
      from: { pathNot: ['^storage/', '^(test|bench)/'] },
      to: { path: npm('(pg|better-sqlite3)') },
    },
    {
      name: 'only-metrics-counts',
      comment: 'Rooms do not know that they are counted: metrics wraps their ports at the roots.',
      severity: 'error',
      from: { pathNot: ['^metrics/', '^(test|bench)/'] },
      to: { path: npm('prom-client') },
    },
    {
      name: 'only-tracing-names-opentelemetry',
      comment: 'Rooms tell plain events and do not know that they are traced.',
      severity: 'error',
      from: { pathNot: ['^tracing/', '^(test|bench)/'] },
      to: { path: npm('(@opentelemetry|@temporalio/interceptors-opentelemetry)') },
    },
    {
      name: 'metrics-and-tracing-wrap-ports',
      comment:
        'Only types of what they tell of; a free port is all that metrics needs of another room.',
      severity: 'error',
      from: { path: '^(metrics|tracing)/' },
      to: {
        path: layers(
          'workflows',
          'activities',
          'engine',
          'agents',
          'llm',
          'memory',
          'storage',
          'worker',
          'api',
          'cli',
        ),
        ...value,
      },
    },
    {
      name: 'only-api-names-express',
      severity: 'error',
      from: { pathNot: ['^api/', '^(test|bench)/'] },
      to: { path: npm('(express|helmet)') },
    },
    {
      name: 'nobody-imports-a-root',
      comment:
        'worker, api, cli and bench are roots; only cli composes worker and api into one process.',
      severity: 'error',
      from: {
        path: layers(
          'contracts',
          'workflows',
          'activities',
          'engine',
          'agents',
          'llm',
          'memory',
          'storage',
          'temporal',
          'config',
          'api',
          'worker',
        ),
      },
      to: { path: layers('cli', 'bench', 'test') },
    },
    {
      name: 'product-does-not-import-tests',
      severity: 'error',
      from: { pathNot: '^(test|bench)/' },
      to: { path: '^test/', pathNot: '^test/support/' },
    },
    {
      name: 'bench-imports-harnesses-only',
      comment: 'The rehearsal judges what clients saw by the checker of the chaos runs.',
      severity: 'error',
      from: { path: '^bench/' },
      to: { path: '^test/', pathNot: '^test/(support|chaos)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|test/fixtures|test/projects)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types'],
    },
  },
};
