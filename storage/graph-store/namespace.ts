/** A namespace as one text: each label ends with a separator, so that a prefix is a range and `users/1` is never `users/10`. */

/** Unit separator. No label holds it. */
const separator = '\u001f';
/** The next character: what sorts after everything that begins with a separator's label. */
const beyond = '\u0020';

/** @throws Error when a label cannot be part of a namespace */
export function encodeNamespace(labels: readonly string[]): string {
  for (const label of labels) {
    if (
      typeof label !== 'string' ||
      label === '' ||
      label.includes('\u0000') ||
      label.includes(separator)
    )
      throw new Error(
        `A namespace consists of texts that are not empty; ${JSON.stringify(label)} is none.`,
      );
  }
  return labels.map((label) => label + separator).join('');
}

export const decodeNamespace = (ns: string): string[] => ns.split(separator).slice(0, -1);

/** From the first to the end, exclusive, of what begins with the prefix; undefined when that is everything. */
export const rangeOf = (prefix: string): readonly [from: string, to: string] | undefined =>
  prefix === '' ? undefined : [prefix, prefix.slice(0, -1) + beyond];
