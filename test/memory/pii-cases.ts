/** Generated personal data that other libraries call valid (faker makes it, stdnum checks it), in sentences of four languages. */
import { faker, fakerEN_US, fakerES, fakerKO, fakerZH_CN } from '@faker-js/faker';
import type { PiiKind } from '../../memory/pii/rule.js';
import { stdnum } from 'stdnum';

/** A value; `text` says what it is, `bare` does not. */
export interface PiiCase {
  readonly kind: PiiKind | 'none';
  readonly label: string;
  readonly value: string;
  readonly text: string;
  readonly bare: string;
}

const frames: readonly ((value: string, word: string) => string)[] = [
  (v, w) => `My ${w} is ${v}, please keep it.`,
  (v, w) => `${w}: ${v}`,
  (v, w) => `Before that (${w} ${v}) nothing worked.\nThanks`,
  (v, w) => `제 ${w}은 ${v} 입니다. 확인해 주세요.`,
  (v, w) => `Mi ${w} es ${v}. Gracias`,
  (v, w) => `我的${w}是 ${v} ，谢谢`,
  (v, w) => `{"${w}":"${v}"}`,
];

const digits = (length: number) => faker.string.numeric({ length, allowLeadingZeros: true });

/** Tries until an independent checker calls it valid. */
function until(make: () => string, valid: (value: string) => boolean): string {
  for (let i = 0; i < 20_000; i++) {
    const value = make();
    if (valid(value)) return value;
  }
  throw new Error('The generator finds no valid value.');
}

const birth = () => faker.date.birthdate().toISOString().slice(2, 10).replaceAll('-', '');
const born = (date: string) => date.slice(0, 6);
const key = (pattern: RegExp) => faker.helpers.fromRegExp(pattern);
const groups = (value: string, sizes: readonly number[], separator: string) => {
  let at = 0;
  return sizes.map((n) => value.slice(at, (at += n))).join(separator);
};
const visa = () => faker.finance.creditCardNumber({ issuer: '4###-####-####-###L' });

const makers: readonly (readonly [PiiKind, string, string, () => string])[] = [
  ['EMAIL', 'e-mail', 'e-mail', () => faker.internet.email()],
  ['EMAIL', 'e-mail', 'correo', () => fakerES.internet.email({ provider: 'correo.example.es' })],
  [
    'PHONE',
    'phone, international',
    'phone',
    () => fakerEN_US.phone.number({ style: 'international' }),
  ],
  [
    'PHONE',
    'phone, international',
    'contact',
    () => `+82 10-${digits(4).replace(/^0|^1/, '4')}-${digits(4)}`,
  ],
  [
    'PHONE',
    'phone, Korea',
    '전화번호',
    () => `010-${digits(4).replace(/^[01]/, '5')}-${digits(4)}`,
  ],
  ['PHONE', 'phone, Korea', '연락처', () => `010${digits(4).replace(/^[01]/, '5')}${digits(4)}`],
  ['PHONE', 'phone, Korea', '사무실', () => `02-${digits(4).replace(/^[01]/, '5')}-${digits(4)}`],
  ['PHONE', 'phone, USA', 'phone', () => fakerEN_US.phone.number({ style: 'national' })],
  ['PHONE', 'phone, Spain', 'teléfono', () => groups(`6${digits(8)}`, [3, 3, 3], ' ')],
  ['PHONE', 'phone, China', '手机', () => `139${digits(8)}`],
  ['CARD', 'card', 'card', visa],
  ['CARD', 'card', '카드', () => visa().replaceAll('-', ' ')],
  ['CARD', 'card', 'tarjeta', () => visa().replaceAll('-', '')],
  ['CARD', 'card', '卡', () => faker.finance.creditCardNumber('mastercard')],
  ['CARD', 'card', 'amex', () => faker.finance.creditCardNumber('american_express')],
  ['IBAN', 'IBAN', 'account', () => faker.finance.iban({ formatted: true })],
  ['IBAN', 'IBAN', 'cuenta', () => faker.finance.iban({ countryCode: 'ES' })],
  ['IP', 'IP v4', 'address', () => faker.internet.ipv4()],
  ['IP', 'IP v6', 'address', () => faker.internet.ipv6()],
  [
    'KR_RRN',
    'resident number (KR)',
    '주민번호',
    () => {
      const d = birth();
      return until(
        () => `${born(d)}-${faker.helpers.arrayElement(['1', '2', '3', '4'])}${digits(6)}`,
        (v) => stdnum.KR!.rrn!.validate(v).isValid,
      );
    },
  ],
  [
    'KR_RRN',
    'resident number (KR)',
    'number',
    () => {
      const d = birth();
      return until(
        () => `${born(d)}${faker.helpers.arrayElement(['1', '2'])}${digits(6)}`,
        (v) => stdnum.KR!.rrn!.validate(v).isValid,
      );
    },
  ],
  [
    'KR_RRN',
    'resident number (KR) since 2020',
    '주민등록번호',
    () => `${birth()}-${faker.helpers.arrayElement(['3', '4'])}${digits(6)}`,
  ],
  [
    'ES_ID',
    'DNI / NIE (ES)',
    'DNI',
    () =>
      until(
        () => digits(8) + faker.string.alpha({ casing: 'upper' }),
        (v) => stdnum.ES!.dni!.validate(v).isValid,
      ),
  ],
  [
    'ES_ID',
    'DNI / NIE (ES)',
    'NIE',
    () =>
      until(
        () => `X${digits(7)}${faker.string.alpha({ casing: 'upper' })}`,
        (v) => stdnum.ES!.nie!.validate(v).isValid,
      ),
  ],
  [
    'CN_ID',
    'identity number (CN)',
    '身份证',
    () =>
      until(
        () =>
          `110101${faker.date.birthdate().toISOString().slice(0, 10).replaceAll('-', '')}${digits(3)}${'0123456789X'.charAt(faker.number.int(10))}`,
        (v) => stdnum.CN!.ric!.validate(v).isValid,
      ),
  ],
  [
    'US_SSN',
    'SSN (US)',
    'SSN',
    () =>
      until(
        () => groups(digits(9), [3, 2, 4], '-'),
        (v) => stdnum.US!.ssn!.validate(v).isValid,
      ),
  ],
  ...[
    /sk-proj-[A-Za-z0-9]{48}/,
    /sk-ant-api03-[A-Za-z0-9]{80}/,
    /ghp_[A-Za-z0-9]{36}/,
    /github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/,
    /AKIA[A-Z0-9]{16}/,
    /AIza[A-Za-z0-9]{35}/,
    /xoxb-[0-9]{12}-[0-9]{12}-[A-Za-z0-9]{24}/,
    /sk_live_[A-Za-z0-9]{24}/,
    /SG[.][A-Za-z0-9]{22}[.][A-Za-z0-9]{43}/,
    /npm_[A-Za-z0-9]{36}/,
    /hf_[A-Za-z]{34}/,
    /glpat-[A-Za-z0-9]{20}/,
  ].map((form): readonly [PiiKind, string, string, () => string] => [
    'API_KEY',
    'keys of 12 vendors',
    'key',
    () => key(form),
  ]),
  ['API_KEY', 'JWT', 'token', () => faker.internet.jwt()],
  [
    'PASSWORD',
    'password',
    'password',
    () => `${faker.internet.password({ length: 9, memorable: false })}7!`,
  ],
];

const innocent: readonly (readonly [string, () => string])[] = [
  ['order', () => `ORD-${faker.date.recent().getFullYear()}-${digits(6)}`],
  ['date', () => faker.date.anytime().toISOString()],
  ['day', () => faker.date.anytime().toISOString().slice(0, 10)],
  [
    'time',
    () =>
      `${faker.number.int({ min: 10, max: 23 })}:${faker.number.int({ min: 10, max: 59 })}:${faker.number.int({ min: 10, max: 59 })}`,
  ],
  ['id', () => faker.string.uuid()],
  ['commit', () => faker.git.commitSha()],
  ['book', () => faker.commerce.isbn(13)],
  ['price', () => `${faker.commerce.price()} EUR`],
  ['version', () => faker.system.semver()],
  [
    'release',
    () =>
      `v${faker.number.int(20)}.${faker.number.int(20)}.${faker.number.int(20)}.${faker.number.int(20)}`,
  ],
  ['epoch', () => String(faker.date.anytime().getTime())],
  ['amount', () => faker.number.float({ max: 1e6, fractionDigits: 6 }).toString()],
  ['tracking', () => `1Z${faker.string.alphanumeric({ length: 16, casing: 'upper' })}`],
  ['range', () => `${digits(3)}-${digits(3)} pages`],
  ['digits', () => digits(10)],
  ['mac', () => faker.internet.mac()],
  ['url', () => `${faker.internet.url()}/a/${digits(7)}`],
  ['business number', () => groups(digits(10), [3, 2, 5], '-')],
  ['coordinates', () => `${faker.location.latitude()}, ${faker.location.longitude()}`],
  ['sentence', () => faker.lorem.sentence()],
  ['name', () => `${fakerKO.person.fullName()} ${fakerZH_CN.person.fullName()}`],
  ['word', () => 'password is required, the API key is missing'],
];

/** `each` cases of every maker; the same for the same seed. */
export function piiCases(seed: number, each: number): readonly PiiCase[] {
  for (const f of [faker, fakerEN_US, fakerES, fakerKO, fakerZH_CN]) {
    f.seed(seed);
    f.setDefaultRefDate('2026-01-01T00:00:00Z');
  }
  const cases: PiiCase[] = [];
  const add = (kind: PiiCase['kind'], label: string, word: string, value: string) => {
    const frame = frames[cases.length % frames.length]!;
    cases.push({
      kind,
      label,
      value,
      text: frame(value, word),
      bare: `Before that, ${value} and nothing else.`,
    });
  };
  for (let i = 0; i < each; i++) {
    for (const [kind, label, word, make] of makers) add(kind, label, word, make());
    for (const [word, make] of innocent) add('none', word, word, make());
  }
  return cases;
}
