/**
 * A user's correction of what is remembered of him, made outside any conversation. It passes the gate's word lists and the mask
 * like everything else, and gets a user's trust and no more: what was verified becomes what the user says. Pure.
 */
import type { Mask } from '../pii/mask.js';
import { theUser, type Candidate, type Fact } from './fact.js';
import { ownToDecide, refused, type Verdict } from './gate.js';
import { suspicionsOf } from './suspicion.js';

/** Stands where other facts name the message that they come from. */
const correctionMessage = 'correction';

/** The verdict on the new value; the caller records it and withdraws the fact if recording has not ended it. */
export function correctionOf(fact: Fact, value: string, mask: Mask): Verdict {
  const clean = mask(value).text;
  const left = clean.replace(/\[[A-Z_]+(:[0-9a-f]{4})?\]/g, '');
  if (!/[\p{L}\p{N}]/u.test(left)) return refused('only_personal_data');
  const text = sentenceOf(fact, clean);
  const [worst] = suspicionsOf(`${clean}\n${text}`);
  if (worst !== undefined) return refused(worst);
  const own = fact.subject === theUser && ownToDecide.test(fact.predicate);
  const candidate: Candidate = {
    subject: fact.subject,
    predicate: fact.predicate,
    value: clean,
    text,
    single: fact.single,
    evidence: { messageId: correctionMessage, quote: text },
    confidence: 1,
  };
  return { kind: 'accepted', standing: own ? 'preference' : 'claimed', source: 'user', candidate };
}

const longestText = 500;

/** The old sentence with the new value in it, if it held the old one. */
function sentenceOf({ text, value, predicate }: Fact, next: string): string {
  const at = text.indexOf(value);
  const sentence =
    at === -1
      ? `${predicate}: ${next}`
      : `${text.slice(0, at)}${next}${text.slice(at + value.length)}`;
  return sentence.slice(0, longestText);
}
