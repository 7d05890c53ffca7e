/**
 * Wording that no memory may carry: instructions to the agent, rights and rules, what concerns others, guesses. It is the
 * second line only: what decides is the source, which wording cannot change (`gate.ts`).
 */

/** What a wording is suspected of. */
export type Suspicion = 'instruction' | 'authority' | 'about_others' | 'guess' | 'question';

const patterns: readonly (readonly [Suspicion, RegExp])[] = [
  [
    'about_others',
    /\b(every(one|body|\s+(user|customer|person|one))|all\s+(the\s+)?(other\s+)?(users?|customers?|people|accounts?|employees|members|visitors|guests)|any(one|body|\s+user)|other\s+(users?|people|customers?)|whoever)\b|모든\s*(사용자|고객|사람|유저|회원|계정)|모두|누구나|전\s*직원|다른\s*(사용자|사람|고객)|\btod[oa]s?\s+(l[oa]s\s+)?(usuari|client|cuentas|personas|emplead|miembros)|todo el mundo|cualquier\s+(usuario|persona|cliente)|otr[oa]s\s+(usuari|client|personas)|cada\s+(usuario|cliente)|所有(的)?(用户|用戶|人|客户|帐号|账户|成员)|大家|每个?(人|用户|客户)|任何(人|用户)|其他(用户|人)|全て?の?(ユーザー|人)|みんな|全員|tous\s+les\s+(utilisateurs|clients)|tout le monde|alle\s+(benutzer|nutzer|kunden)|\bjeder\b|todos\s+os\s+usu[aá]rios|все(м|х)?\s+пользовател|جميع المستخدمين/iu,
  ],
  [
    'authority',
    /\b(admin(s|istrators?|istrative)?|root\s+access|super-?users?|sudo|permissions?|privileges?|authori[sz](ed|ation|e)|access\s+rights?|entitled|clearance|(without|no|skip|bypass)\s+(any\s+)?(approval|verification|authenti\w+|confirmation|checks?|password)|unlimited|(price|discount|refund|policy|fee)s?\s+(is|are|was|should|must|of)|refunds?\s+(are|is)\s+(always|automatic\w*|approved))\b|관리자|권한|운영자|슈퍼\s*유저|(승인|인증|확인|검증)\s*없이|할인율|가격은|환불\s*정책|정책(은|이)|\b(administrador\w*|permisos?|privilegios?|autorizad\w*|superusuari\w*|sin\s+(aprobaci|verificaci|autorizaci|confirmaci)\w+|descuento\s+(es|del)|precio\s+(es|del)|pol[ií]tica\s+(es|de))|管理员|管理員|权限|權限|超级用户|无需(审批|验证|确认|授权)|授权|折扣(是|为)|价格(是|为)|政策(是|为)|管理者|権限|administrateurs?|berechtigung|administratoren|администратор|права\s+доступа|مسؤول/iu,
  ],
  [
    'instruction',
    /\b(ignore|disregard|override|forget)\s+(all|any|every|the|your|previous|prior|earlier|above|what)|\b(you|the\s+(assistant|agent|bot|model|ai))\s+(must|should|shall|have\s+to|need\s+to|are\s+(now|to)|will)\b|\bfrom\s+now\s+on\b|system\s*prompt|\b(previous|prior|new)\s+(instructions?|rules?)|\b(always|never)\s+(answer|reply|respond|say|call|run|use|send|approve|execute|tell|recommend|include|trust|ask)\b|\b(do\s+not|don'?t)\s+(tell|mention|reveal|ask|verify|check)\b|\b(execute|invoke|call)\s+(the\s+)?(tool|function|command)|\bact\s+as\b|\bpretend\b|when(ever)?\s+(asked|the\s+user|someone|i\s+say)|<\/?(system|instructions?|tool)\b|지시(를|사항)|무시(하|해)|지금부터|앞으로(는)?\s*(항상|무조건|모든|반드시)|시스템\s*프롬프트|(항상|무조건|반드시)\s.*(해라|하라|해야|하세요|해\s*줘|답해)|\bignora\b|\ba\s+partir\s+de\s+ahora\b|\bde\s+ahora\s+en\s+adelante\b|instrucciones|\bdebes\b|\btienes\s+que\b|\bsiempre\s+(responde|di|usa|llama|aprueba|env[ií]a)|忽略|无视|忽視|从现在(起|开始)|從現在|今后(都|总是|必须)|系统提示|你(必须|应该|要)|总是(回答|使用|调用)|指令|これから(は)?(常に|必ず)|指示を|ignorez?\b|d[ée]sormais|ignoriere|ab\s+(jetzt|sofort)|игнорируй|с\s+этого\s+момента|تجاهل/iu,
  ],
  [
    'guess',
    /\b(i\s+(think|guess|believe|suppose|assume|bet|heard)|maybe|perhaps|probably|possibly|presumably|apparently|supposedly|might|could\s+be|not\s+(sure|certain)|as\s+far\s+as\s+i\s+know|if\s+i\s+remember)\b|아마|것\s*같|듯(하|해|합|싶)|추측|모르겠|(일|할|될)지도|들었|\b(creo|supongo|quiz[aá]s?|tal\s+vez|probablemente|posiblemente|a\s+lo\s+mejor|me\s+parece|imagino|he\s+o[ií]do)\b|no\s+estoy\s+segur|也许|可能|大概|我(觉得|猜|认为|估计)|好像|似乎|应该是|听说|不确定|たぶん|かもしれ|peut-[êe]tre|je\s+crois|vielleicht|ich\s+glaube|наверное|возможно/iu,
  ],
  ['question', /[?？؟]\s*$|(까요|나요|을까|ㄹ까)\s*$|吗\s*$/u],
];

/** Letters of other alphabets that pass for Latin ones. */
const lookAlikes: Readonly<Record<string, string>> = {
  а: 'a',
  е: 'e',
  о: 'o',
  р: 'p',
  с: 'c',
  у: 'y',
  х: 'x',
  і: 'i',
  ѕ: 's',
  ј: 'j',
  ԁ: 'd',
  ο: 'o',
  α: 'a',
  ν: 'v',
};

/** One form for all ways to write the same words. */
const normal = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/[\u00AD\u200B-\u200F\u2060\uFEFF\u{E0000}-\u{E007F}]/gu, '')
    .replace(/\s+/g, ' ');

/** Latin words with a letter of another alphabet inside are read as Latin. */
const unmasked = (text: string): string =>
  text.replace(/\S*[a-z]\S*/gi, (word) => Array.from(word, (c) => lookAlikes[c] ?? c).join(''));

/** What a text is suspected of, most serious first; empty when nothing. */
export function suspicionsOf(text: string): readonly Suspicion[] {
  const plain = normal(text);
  const forms = [plain, unmasked(plain), plain.replace(/(?<=\b\w)[ ._*-](?=\w\b)/g, '')];
  return patterns.flatMap(([what, pattern]) => (forms.some((f) => pattern.test(f)) ? [what] : []));
}
