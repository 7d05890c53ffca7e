/** What support says itself, in the languages that it speaks. Everything else comes from the documents. */
import type { Language } from './language.js';

/** The sentences of one language. */
export interface Phrases {
  /** Asks which of the areas a vague message is about. */
  readonly whichArea: (areas: readonly string[]) => string;
  /** Says what there is to ask, without asking again. */
  readonly whatThereIs: (areas: readonly string[]) => string;
  readonly notKnown: (areas: readonly string[]) => string;
  readonly alsoCovers: (area: string, headings: readonly string[]) => string;
  readonly source: (sources: readonly string[]) => string;
  /** Said before passages that are in another language. */
  readonly otherLanguage: string;
  readonly welcome: string;
  readonly goodbye: string;
}

const listed = (items: readonly string[], or: string): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')}${or}${items.at(-1) ?? ''}`;
const numbered = (items: readonly string[]): string =>
  items.map((item, i) => `${i + 1}. ${item}`).join('\n');

export const phrases: Readonly<Record<Language, Phrases>> = {
  en: {
    whichArea: (areas) =>
      `I can look that up once I know what it is about. Which area is it?\n${numbered(areas)}`,
    whatThereIs: (areas) =>
      `The documents cover ${listed(areas, ' and ')}. Name one of these, or say what you want to do or what went wrong, in a few words.`,
    notKnown: (areas) =>
      `The documents do not say anything about that, and I do not guess. They cover ${listed(areas, ' and ')}.`,
    alsoCovers: (area, headings) => `"${area}" also covers: ${headings.join('; ')}.`,
    source: (sources) => `Source: ${sources.join('; ')}`,
    otherLanguage: 'The documents are in another language; this is what they say:',
    welcome: 'You are welcome.',
    goodbye: 'Goodbye. This thread will be here when you come back.',
  },
  es: {
    whichArea: (areas) =>
      `Puedo buscarlo en cuanto sepa de qué se trata. ¿De qué tema es?\n${numbered(areas)}`,
    whatThereIs: (areas) =>
      `Los documentos tratan de ${listed(areas, ' y ')}. Nombre uno de estos temas, o diga en pocas palabras qué quiere hacer o qué ha fallado.`,
    notKnown: (areas) =>
      `Los documentos no dicen nada sobre eso, y no lo voy a adivinar. Tratan de ${listed(areas, ' y ')}.`,
    alsoCovers: (area, headings) => `"${area}" trata también de: ${headings.join('; ')}.`,
    source: (sources) => `Fuente: ${sources.join('; ')}`,
    otherLanguage: 'Los documentos están en otro idioma; esto es lo que dicen:',
    welcome: 'De nada.',
    goodbye: 'Hasta luego. Este hilo seguirá aquí cuando vuelva.',
  },
  ko: {
    whichArea: (areas) =>
      `무엇에 관한 것인지 알면 찾아볼 수 있습니다. 어느 분야인가요?\n${numbered(areas)}`,
    whatThereIs: (areas) =>
      `문서에서 다루는 분야는 ${areas.join(', ')}입니다. 이 중 하나를 고르시거나, 무엇을 하려는지 또는 무엇이 잘못되었는지 짧게 적어 주세요.`,
    notKnown: (areas) =>
      `문서에는 그에 대한 내용이 없으며, 추측해서 답하지 않습니다. 문서에서 다루는 분야: ${areas.join(', ')}.`,
    alsoCovers: (area, headings) => `"${area}"에서 함께 다루는 내용: ${headings.join('; ')}.`,
    source: (sources) => `출처: ${sources.join('; ')}`,
    otherLanguage: '문서가 다른 언어로 되어 있어 원문을 그대로 보여 드립니다.',
    welcome: '천만에요.',
    goodbye: '안녕히 가세요. 이 대화는 다시 오실 때까지 남아 있습니다.',
  },
  zh: {
    whichArea: (areas) => `知道是关于什么的，我就可以查找。是哪一方面的问题？\n${numbered(areas)}`,
    whatThereIs: (areas) =>
      `文档涵盖：${areas.join('、')}。请选择其中一项，或者简单说明您想做什么、出了什么问题。`,
    notKnown: (areas) => `文档中没有相关内容，我不会猜测。文档涵盖：${areas.join('、')}。`,
    alsoCovers: (area, headings) => `“${area}”还包括：${headings.join('；')}。`,
    source: (sources) => `来源：${sources.join('；')}`,
    otherLanguage: '文档使用其他语言，原文如下：',
    welcome: '不客气。',
    goodbye: '再见。您回来时，这个对话还在。',
  },
};
