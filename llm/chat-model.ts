import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { DocsSearch } from './builtin-replies.js';

export interface ChatModelOptions {
  /** Where the built-in model looks for its answers. */
  readonly docs: DocsSearch;
}

/**
 * Makes the model that `EVERTHREAD_MODEL` names: `builtin`, or what LangChain's `initChatModel` takes (`openai:gpt-5-mini`).
 * Keys and base URLs are the providers' own variables, which their packages read. It retries nothing: the activity does.
 * @throws Error that says what to install or to set
 */
export async function createChatModel(
  spec: string,
  options: ChatModelOptions,
): Promise<BaseChatModel> {
  if (spec === 'builtin') {
    const { BuiltinChatModel } = await import('./builtin-model.js');
    return new BuiltinChatModel({ docs: options.docs });
  }
  return createProviderModel(spec);
}

async function createProviderModel(spec: string): Promise<BaseChatModel> {
  const universal = await import('langchain/chat_models/universal');
  const providers: Readonly<Record<string, { readonly package: string } | undefined>> =
    universal.MODEL_PROVIDER_CONFIG;
  const colon = spec.indexOf(':');
  const [prefix, rest] = [spec.slice(0, Math.max(colon, 0)), spec.slice(colon + 1)];
  const named = providers[prefix] !== undefined;
  const provider = named ? prefix : universal._inferModelProvider(spec);
  const model = named ? rest : spec;
  const known = provider === undefined ? undefined : providers[provider];
  if (known === undefined || model === '')
    throw new Error(
      `The model "${spec}" names no provider that LangChain knows. Write provider:model, for example openai:gpt-5-mini; providers: ${Object.keys(providers).join(', ')}; or builtin.`,
    );
  const make = await importProvider(spec, known.package, async () => {
    if (provider === 'openai') return (await import('./openai-model.js')).createOpenAIModel;
    const Model = (await universal.getChatModelByClassName('', provider)) as ModelClass;
    return (name: string) => new Model({ model: name, maxRetries: 0 });
  });
  try {
    return make(model);
  } catch (error) {
    throw new Error(
      `The model "${spec}" could not be made: ${firstLine(error)} Keys and addresses come from the provider's own variables (OPENAI_API_KEY, OPENAI_BASE_URL, ...).`,
      { cause: error },
    );
  }
}

type MakeModel = (model: string) => BaseChatModel;
type ModelClass = new (fields: { model: string; maxRetries: number }) => BaseChatModel;

async function importProvider(
  spec: string,
  packageName: string,
  load: () => Promise<MakeModel>,
): Promise<MakeModel> {
  try {
    return await load();
  } catch (error) {
    const missing = /unable to import|cannot find (package|module)/i.test(firstLine(error));
    throw new Error(
      missing
        ? `The model "${spec}" needs the npm package ${packageName}, which is not installed. Run: npm install ${packageName}`
        : `The package ${packageName} of the model "${spec}" could not be loaded: ${firstLine(error)}`,
      { cause: error },
    );
  }
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
