/** Numbers that carry a check: what a library can validate it does; the checksum of Korean numbers is ours. */
import { parsePhoneNumberFromString, type CountryCode } from 'libphonenumber-js/max';
import { isIP } from 'node:net';
import validator from 'validator';
import { digitsOf, type PiiRule } from './rule.js';

const about = {
  phone:
    /phone|mobile|cell|call me|\btel\b|\bfax|whatsapp|번호|전화|연락처|핸드폰|휴대|tel[eé]fono|m[oó]vil|celular|ll[aá]ma|电话|手机|联系|號碼|号码|電話/i,
  resident: /주민|resident|\brrn\b|외국인등록|registration/i,
  social: /ssn|social security/i,
  ip: /\b(version|release|v)\s*$/i,
};

export const numberRules: readonly PiiRule[] = [
  {
    kind: 'IBAN',
    pattern: /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]{1,4}){2,9}(?![A-Za-z0-9])/g,
    accepts: (value) => validator.isIBAN(value),
    shrinks: true,
  },
  {
    kind: 'KR_RRN',
    pattern: /(?<![\d.-])\d{6} ?- ?[0-9]\d{6}(?![\d-])/g,
    // Numbers issued since October 2020 have no checksum: date and century digit must do.
    accepts: (value) => hasBirthDate(digitsOf(value)),
  },
  {
    kind: 'KR_RRN',
    pattern: /(?<![\d.-])\d{6} ?[1-8]\d{6}(?![\d-])/g,
    accepts: (value, before) =>
      hasBirthDate(digitsOf(value)) &&
      (about.resident.test(before) || hasResidentChecksum(digitsOf(value))),
  },
  {
    kind: 'CN_ID',
    pattern: /(?<![A-Za-z0-9-])[1-9]\d{16}[\dXx](?![A-Za-z0-9-])/g,
    accepts: (value) => validator.isIdentityCard(value.toUpperCase(), 'zh-CN'),
  },
  {
    kind: 'CARD',
    pattern:
      /(?<![\d.-])(?:\d{4}[ .-]?\d{4}[ .-]?\d{4}[ .-]?\d{1,4}(?:[ .-]?\d{1,3})?|\d{4}[ .-]?\d{6}[ .-]?\d{4,5})(?![\d-])/g,
    accepts: (value) => validator.isCreditCard(digitsOf(value)),
  },
  {
    kind: 'US_SSN',
    pattern: /(?<![\d-])(?!000|666|9\d\d)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}(?![\d-])/g,
    accepts: (value, before) => value.includes('-') || about.social.test(before),
  },
  {
    kind: 'US_SSN',
    pattern: /(?<![\d-])(?!000|666|9\d\d)\d{3}(?!00)\d{2}(?!0000)\d{4}(?![\d-])/g,
    accepts: (_value, before) => about.social.test(before),
  },
  {
    kind: 'ES_ID',
    pattern:
      /(?<![A-Za-z0-9-])(?:[XYZxyz][- ]?\d{7}|\d{8}|\d{2}\.\d{3}\.\d{3})[- ]?[A-Za-z](?![A-Za-z0-9])/g,
    accepts: (value) => validator.isIdentityCard(value.replace(/[ .-]/g, '').toUpperCase(), 'ES'),
  },
  {
    kind: 'IP',
    pattern: /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)/g,
    accepts: (value, before) => isIP(value) === 4 && !about.ip.test(before),
  },
  {
    kind: 'IP',
    pattern:
      /(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,8}(?:[0-9A-Fa-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])/g,
    // "::" alone, and times such as 10:20:30, are no addresses.
    accepts: (value) => isIP(value) === 6 && /[0-9A-Fa-f]{2}/.test(value),
  },
  {
    kind: 'PHONE',
    pattern: /(?<![\w.+])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){5,13}(?!\d)/g,
    // A plus sign says enough: a number of a possible length is masked though nobody may have been given it.
    accepts: (value) => parsePhoneNumberFromString(value)?.isPossible() ?? false,
  },
  {
    kind: 'PHONE',
    pattern: /(?<![\w.+/-])\(?\d{2,4}\)?[ .-]{1,2}\d{2,4}(?:[ .-]\d{2,4}){1,3}(?![\w/]|[.-]\d)/g,
    accepts: (value, before) =>
      national.some((country) => isPhone(value, country)) &&
      (looksDialled(value) || about.phone.test(before)),
  },
  {
    kind: 'PHONE',
    pattern: /(?<![\w.+/-])\d{9,11}(?![\w/]|[.-]\d)/g,
    accepts: (value, before) =>
      (/^010\d{8}$/.test(value) || about.phone.test(before)) &&
      national.some((country) => isPhone(value, country)),
  },
];

/** Countries whose numbers are recognised without +country code. */
const national: readonly CountryCode[] = ['KR', 'US', 'ES', 'CN', 'JP', 'GB', 'MX', 'FR', 'DE'];

/** A trunk zero, an area code in brackets, or the groups that these countries write. */
const looksDialled = (value: string): boolean =>
  /^\(?0\d/.test(value) ||
  /^\(\d{3}\)/.test(value) ||
  /^[2-9]\d{2}([-. ])[2-9]\d{2}\1\d{4}$/.test(value) ||
  /^1[3-9]\d([ -])\d{4}\1\d{4}$/.test(value) ||
  /^[6-9]\d{2} \d{3} \d{3}$|^[6-9]\d{2} \d{2} \d{2} \d{2}$/.test(value);

const isPhone = (value: string, country: CountryCode): boolean =>
  parsePhoneNumberFromString(value, country)?.isValid() ?? false;

/** Whether the first seven digits are a date and a digit that says the century. */
function hasBirthDate(digits: string): boolean {
  const month = Number(digits.slice(2, 4));
  const day = Number(digits.slice(4, 6));
  const century = '1256'.includes(digits.charAt(6))
    ? 1900
    : '3478'.includes(digits.charAt(6))
      ? 2000
      : 1800;
  const date = new Date(Date.UTC(century + Number(digits.slice(0, 2)), month - 1, day));
  return month >= 1 && month <= 12 && day >= 1 && date.getUTCMonth() === month - 1;
}

const residentWeights = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5];

function hasResidentChecksum(digits: string): boolean {
  const sum = residentWeights.reduce((s, w, i) => s + w * Number(digits.charAt(i)), 0);
  const foreigner = '5678'.includes(digits.charAt(6));
  return ((foreigner ? 13 : 11) - (sum % 11) + 10) % 10 === Number(digits.charAt(12));
}
