/** What long-term memory adds to a prompt: chosen once per turn by what was asked, and said with how far it is trusted (M12). */
import { examplesText, type Episode } from './episodes/episode.js';
import { isActive, type Fact } from './facts/fact.js';
import { fused } from './search/meaning.js';
import { rank } from './search/rank.js';

/** What is known of a user. */
export interface Known {
  readonly facts: readonly Fact[];
  readonly episodes: readonly Episode[];
}

/** What fits a question. */
export interface Recalled {
  readonly facts: readonly Fact[];
  readonly episodes: readonly Episode[];
  /** The block for the prompt, '' when nothing fits. */
  readonly text: string;
}

/** How a user is to be addressed and answered fits every question. */
const always =
  /^(answers|language of answers|prefers: (answers|replies|respuestas|답변|대답|回答|语言)|name|nickname|pronouns|tone)$/;
const mostAlways = 5;
const mostFacts = 8;

/**
 * Chooses what fits. Pure; ended and expired facts are never recalled.
 * @param similar ids of facts that are near by meaning, best first: fused with those found by words
 */
export function recall(
  known: Known,
  query: string,
  now: string,
  similar: readonly string[] = [],
): Recalled {
  const active = known.facts.filter((f) => isActive(f, now));
  const profile = active.filter((f) => always.test(f.predicate)).slice(-mostAlways);
  const others = active.filter((f) => !profile.includes(f));
  const byWords = rank(
    others.map((f) => ({ id: f.id, text: `${f.text} ${f.subject} ${f.predicate}` })),
    query,
    mostFacts,
  ).map(({ id }) => id);
  const found = fused([byWords, similar], mostFacts);
  const facts = [...profile, ...found.flatMap((id) => others.filter((f) => f.id === id))];
  const fresh = known.episodes.filter((e) => e.expiresAt > now);
  const episodes = rank(
    fresh.map((e) => ({ id: e.id, text: e.task })),
    query,
    mostFacts,
  ).flatMap(({ id }) => fresh.filter((e) => e.id === id));
  return { facts, episodes, text: recalledText({ facts, episodes }) };
}

/** The block for the prompt. A function of what was chosen alone, so that ids are enough to make it again on a retry. */
export const recalledText = ({ facts, episodes }: Known): string =>
  [...facts.map(lineOf), examplesText(episodes)].filter((l) => l !== '').join('\n');

function lineOf({ standing, subject, text, validFrom }: Fact): string {
  const said = JSON.stringify(text);
  switch (standing) {
    case 'verified':
      return `Verified (${subject}, since ${validFrom.slice(0, 10)}): ${said}`;
    case 'preference':
      return `The user says about himself: ${said}`;
    case 'claimed':
      return `The user claims, not verified: ${said}`;
  }
}
