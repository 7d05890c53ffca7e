/** Facts with a question each, by language: what `tryEmbeddings` asks of a model. Questions share words with their fact, as users' do. */

/** A fact, and a question that it answers. */
type Pair = readonly [fact: string, question: string];

export const trial: readonly { readonly language: string; readonly pairs: readonly Pair[] }[] = [
  {
    language: 'en',
    pairs: [
      ['The user is allergic to peanuts.', 'What is the user allergic to?'],
      ['The user works as a nurse in a hospital.', 'Where does the user work?'],
      ['The delivery address is in Berlin.', 'Which delivery address do we have?'],
      ['The user speaks French at home.', 'What language does the user speak at home?'],
    ],
  },
  {
    language: 'ko',
    pairs: [
      ['사용자는 땅콩 알레르기가 있다.', '사용자는 무슨 알레르기가 있어?'],
      ['사용자는 병원에서 간호사로 일한다.', '사용자는 어디에서 일해?'],
      ['배송 주소는 베를린이다.', '배송 주소가 어디야?'],
      ['사용자는 집에서 프랑스어를 쓴다.', '집에서 무슨 언어를 쓰지?'],
    ],
  },
  {
    language: 'es',
    pairs: [
      ['El usuario es alérgico a los cacahuetes.', '¿A qué es alérgico el usuario?'],
      ['El usuario trabaja de enfermero en un hospital.', '¿Dónde trabaja el usuario?'],
      ['La dirección de entrega está en Berlín.', '¿Qué dirección de entrega tenemos?'],
      ['El usuario habla francés en casa.', '¿Qué idioma habla en casa?'],
    ],
  },
  {
    language: 'zh',
    pairs: [
      ['用户对花生过敏。', '用户对什么过敏?'],
      ['用户在医院当护士。', '用户在哪里当护士?'],
      ['送货地址在柏林。', '送货地址在哪里?'],
      ['用户在家说法语。', '用户在家说什么语言?'],
    ],
  },
];
