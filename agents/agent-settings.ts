/** What an operator may set for the agents that ship. */
import type { GuardLimits } from '../memory/guards/guard.js';

export interface AgentSettings {
  /** Most tokens of one request to the model, tools and system prompt included. */
  readonly contextBudgetTokens: number;
  /** Model calls per turn. */
  readonly maxSteps: number;
  /** Tokens per turn; null for no limit. */
  readonly maxTurnTokens: number | null;
  /** Cost per turn, in the currency of the prices; null for no limit. */
  readonly maxTurnCost: number | null;
  /** Per million tokens. */
  readonly prices: { readonly input: number; readonly output: number };
}

/** For those who bring no settings. 16,000 tokens fit every current model and keep a long thread's turns cheap. */
export const defaultAgentSettings: AgentSettings = {
  contextBudgetTokens: 16_000,
  maxSteps: 15,
  maxTurnTokens: null,
  maxTurnCost: null,
  prices: { input: 0, output: 0 },
};

/** Whether what a turn uses must be known. */
export const hasCap = ({ maxTurnTokens, maxTurnCost }: AgentSettings): boolean =>
  maxTurnTokens !== null || maxTurnCost !== null;

/** The limits of a turn. A state may ask for fewer steps, never for more. */
export const limitsOf = (settings: AgentSettings, maxSteps: number | null): GuardLimits => ({
  maxSteps: Math.min(settings.maxSteps, maxSteps ?? settings.maxSteps),
  prices: settings.prices,
  ...(settings.maxTurnTokens !== null && { maxTokens: settings.maxTurnTokens }),
  ...(settings.maxTurnCost !== null && { maxCost: settings.maxTurnCost }),
});
