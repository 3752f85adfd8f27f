/** Where the development server's agent finds a model that speaks OpenAI's chat completions, if it shall ask one. */
import { readSettings } from '../config.ts';
import type { Environment } from '../config.ts';
import { address, credential } from '../config-values.ts';

export interface ModelConfig {
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
}

export const DEFAULT_MODEL = 'gpt-4.1-mini';

/** Undefined unless both the address and the key are set: a key alone, set for something else, must not cost money here. */
export function readModelConfig(env: Environment): ModelConfig | undefined {
  const settings = readSettings(env);
  const baseUrl = settings.optional('OPENAI_BASE_URL', address, undefined);
  const key = settings.optional('OPENAI_API_KEY', credential, undefined);
  const model = settings.optional('OPENAI_MODEL', (text) => text, DEFAULT_MODEL);
  settings.refuse();
  return baseUrl === undefined || key === undefined ? undefined : { baseUrl, key, model };
}
