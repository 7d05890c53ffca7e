/** Keys and tokens by the forms that their vendors give them, passwords by the words before them. */
import type { PiiRule } from './rule.js';

/** Vendors' prefixes with what follows them. */
const vendorKeys: readonly string[] = [
  'sk-(?:proj|ant|svcacct|admin|or|lf)-[A-Za-z0-9_-]{16,200}', // OpenAI, Anthropic, OpenRouter, Langfuse
  'sk-[A-Za-z0-9]{20,100}', // OpenAI of old, DeepSeek
  '(?:gh[pousr]|ghs)_[A-Za-z0-9]{30,255}',
  'github_pat_[A-Za-z0-9_]{22,255}',
  'gl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_.-]{20,100}',
  '(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}',
  'AIza[A-Za-z0-9_-]{35}',
  'GOCSPX-[A-Za-z0-9_-]{20,40}',
  'ya29\\.[A-Za-z0-9_-]{20,300}',
  'xox[abeoprs]-[A-Za-z0-9-]{10,250}',
  'xapp-\\d-[A-Za-z0-9-]{10,250}',
  '(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,250}', // Stripe
  'whsec_[A-Za-z0-9+/=]{24,100}',
  'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{30,64}', // SendGrid
  '(?:AC|SK)[0-9a-f]{32}', // Twilio
  'key-[0-9a-f]{32}', // Mailgun
  'npm_[A-Za-z0-9]{36}',
  'pypi-[A-Za-z0-9_-]{50,255}',
  'hf_[A-Za-z0-9]{30,60}',
  'gsk_[A-Za-z0-9]{40,80}',
  'xai-[A-Za-z0-9]{40,120}',
  'r8_[A-Za-z0-9]{37}',
  'pplx-[A-Za-z0-9]{40,64}',
  'do[opr]_v1_[0-9a-f]{64}',
  'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}',
  'dapi[0-9a-f]{32}',
  'lin_api_[A-Za-z0-9]{32,64}',
  '(?:ntn|secret)_[A-Za-z0-9]{40,64}',
  'sb[pk]_[0-9a-f]{40}',
  'dckr_pat_[A-Za-z0-9_-]{20,64}',
  'PMAK-[0-9a-f]{24}-[0-9a-f]{34}',
  'NRAK-[A-Z0-9]{27}',
  'glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}',
  'hv[sb]\\.[A-Za-z0-9_-]{24,200}', // Vault
  '\\d{8,10}:AA[A-Za-z0-9_-]{33}', // Telegram
  'eyJ[A-Za-z0-9_-]{8,2000}\\.eyJ[A-Za-z0-9_-]{8,8000}\\.[A-Za-z0-9_-]{10,2000}', // JWT
];

const passwordWord =
  '(?:password|passwd|passphrase|passcode|pwd|비밀번호|비번|암호|contrase[ñn]a|clave|mot de passe|passwort|密码|口令|密碼|パスワード)';
const keyWord =
  '(?:api[ _-]?key|secret(?:[ _-](?:access[ _-])?key)?|access[ _-]?(?:key|token)|auth[ _-]?token|client[ _-]?secret|account[ _-]?key|bearer)';
const is = '(?:\\s{0,3}(?:is|are|es|est|ist|는|은|:|=|：|是|为|は)\\s{0,3}|\\s)';

export const secretRules: readonly PiiRule[] = [
  {
    kind: 'PRIVATE_KEY',
    pattern:
      /-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,16000}?(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----|$(?![\s\S]))/g,
  },
  {
    kind: 'API_KEY',
    pattern: new RegExp(`(?<![A-Za-z0-9_])(?:${vendorKeys.join('|')})(?![A-Za-z0-9])`, 'g'),
  },
  {
    kind: 'PASSWORD',
    pattern: /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:(?<value>[^\s/@]{1,100})@/gi,
    accepts: notMasked,
  },
  {
    kind: 'PASSWORD',
    // Two words must not pass for a password ("password is required"): a digit or a sign belongs to one.
    pattern: new RegExp(
      `${passwordWord}["']?${is}["'“「]?(?<value>[^\\s"'”」,;。，]{4,100})`,
      'gi',
    ),
    accepts: (value) => notMasked(value) && /[^\p{L}.!?]/u.test(value),
  },
  {
    kind: 'API_KEY',
    pattern: new RegExp(`${keyWord}["']?${is}["']?(?<value>[A-Za-z0-9+/_=.-]{16,200})`, 'gi'),
    accepts: (value) => notMasked(value) && /\d/.test(value) && /[A-Za-z]/.test(value),
  },
];

function notMasked(value: string): boolean {
  return !value.startsWith('[');
}

/** Letters of any script before the @, as mail allows. */
export const emailRules: readonly PiiRule[] = [
  {
    kind: 'EMAIL',
    pattern:
      /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}](?:[\p{L}\p{N}._%+'-]{0,62}[\p{L}\p{N}_+-])? ?@ ?(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,6}(?:[A-Za-z]{2,24}|xn--[A-Za-z0-9]{2,40}|한국)/gu,
  },
];
