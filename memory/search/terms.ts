/**
 * Words to index and to ask for, in any script: Latin words folded and cut to their stem, Chinese, Japanese and Korean runs as
 * pairs of characters. A database's own full-text index can be fed with the same terms.
 */

const word = /[\p{L}\p{N}\p{M}]+/gu;
/** Runs of scripts that write without blanks, or (Hangul) glue particles to words. */
const run =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+/gu;
const paired = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** The terms of a text, in its order. */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const [found] of text.normalize('NFKC').toLowerCase().matchAll(word)) {
    for (const [piece] of found.matchAll(run)) {
      if (paired.test(piece)) terms.push(...pairsOf(piece));
      else {
        const stem = stemOf(folded(piece));
        if (stem !== '' && !common.has(stem)) terms.push(stem);
      }
    }
  }
  return terms;
}

function pairsOf(piece: string): string[] {
  const chars = Array.from(piece);
  if (chars.length === 1) return [piece];
  return chars.slice(1).flatMap((char, i) => {
    const pair = `${chars[i] ?? ''}${char}`;
    return common.has(pair) ? [] : [pair];
  });
}

/** Without accents: "dirección" finds "direccion". */
const folded = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '');

/** Plurals and the commonest endings of English and Spanish: all the stemming that short facts need. */
function stemOf(text: string): string {
  if (text.length < 4 || /\d/.test(text)) return text;
  return text
    .replace(/(?<=[a-z]{3})(?:ing|ed)$/, '')
    .replace(/(?<=[a-z]{3})(?:amente|mente|ly)$/, '')
    .replace(/(?<=sh|ch|ss|x|z)es$/, '')
    .replace(/(?<!s|u|i)s$/, '')
    .replace(/(?<=[a-z]{3})[aeo]$/, '');
}

/** Words that stand in every question. */
const common = new Set(
  [
    ...'a an and are as at be been by can could did do does for from had has have how i in is it its me my of on or our should so than that the their them then there they this to was we were what when where which who whom whose why will with would you your about any please tell'.split(
      ' ',
    ),
    ...'el la los las un una unos unas de del al y o en es son fue que cual cuales como cuando donde quien por para con sin mi mis tu su sus me se lo le ha he hay esta este esto tiene tengo si no'.split(
      ' ',
    ),
  ]
    .flatMap((w) => [w, stemOf(w)])
    .concat(
      '什么 怎么 哪里 哪个 是什 我的 你的 的是 多少 请问 吗 了 뭐야 무엇 인가 인가요 가요 나요 어디 언제 누구 뭐예 예요 이에 에요 세요 알려 려줘 입니 니다 습니 하나 어떤 어떻 떻게 제가 나는 저는'.split(
        ' ',
      ),
    ),
);
