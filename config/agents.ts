/** The settings of the agents that ship. */
import type { AgentSettings } from '../agents/agent-settings.js';
import type { SettingReader } from './problems.js';
import * as shape from './shapes.js';

export interface AgentConfig extends AgentSettings {
  /** Model that summarises; null takes the agent's own. */
  readonly summaryModel: string | null;
}

/** System prompt, tools, summary and recalled memory must leave room for a conversation. */
const leastBudgetTokens = 1_000;

export function resolveAgents(reader: SettingReader): AgentConfig {
  const prices = reader.read('EVERTHREAD_MODEL_PRICES', shape.prices, null);
  const maxTurnCost = reader.read('EVERTHREAD_TURN_COST', shape.amount, null);
  if (maxTurnCost !== null && prices === null) {
    reader.refuse({
      variable: 'EVERTHREAD_MODEL_PRICES',
      wrong: 'is not set, and EVERTHREAD_TURN_COST limits what a turn costs',
      allowed: shape.prices.allowed,
    });
  }
  return {
    // Fits every current model, and keeps each turn of a long thread cheap.
    contextBudgetTokens: reader.read(
      'EVERTHREAD_CONTEXT_BUDGET',
      shape.count(leastBudgetTokens, 10_000_000),
      16_000,
    ),
    summaryModel: reader.read('EVERTHREAD_SUMMARY_MODEL', shape.model, null),
    maxSteps: reader.read('EVERTHREAD_MAX_STEPS', shape.count(1, 200), 15),
    maxTurnTokens: reader.read('EVERTHREAD_TURN_TOKENS', shape.count(1, 999_999_999), null),
    maxTurnCost,
    prices: prices ?? { input: 0, output: 0 },
  };
}
