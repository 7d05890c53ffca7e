/** Words that ask for help without saying with what. A message of nothing else is asked back. */
import { termsOf } from '../../memory/search/terms.js';

const english = new Set(
  `help helping helped support assist assistance problem problems issue issues trouble troubles question questions error errors bug bugs
  broken break breaks broke work works working worked fail fails failed failing failure wrong something anything everything nothing thing things stuff
  hi hello hey greetings good morning afternoon evening please pls need needs want wants wanted info information urgent urgently asap
  fix fixed fixing solve stuck confused lost weird strange odd bad happen happens happened happening get gets got getting go going goes give
  again still keep keeps always suddenly now today just really very much many long more less some any all
  computer laptop machine app application system program site website product software tool
  ok okay yes no yeah hmm sir madam team guys someone anyone somebody anybody know knows understand explain tell show say said talk
  use uses using used user make makes making try tries tried trying like way ways possible able able allow allowed let lets
  not never nor here hear out up if but because about than too also only well see look seem seems think thought sure maybe
  anymore handle handles mean means meaning another still take takes taking come comes ask asks asked own sure please kind
  i'm i've i'd it's that's what's there's can't cannot won't cant dont doesnt isnt let's us them these those its whats im ive
  does do done doing being been having such same other another one two`.split(/\s+/),
);

const spanish = new Set(
  `ayuda ayudame ayudar ayudarme ayudas ayudan auxilio socorro problema problemas duda dudas pregunta preguntas consulta consultas error errores
  fallo fallos falla fallas fallando funciona funcionan funcionando funcionar sirve va van anda mal roto rota hola buenas buenos buen dias dia tardes noches
  favor gracias necesito necesitamos quiero quisiera puede puedes podria podrias pueden puedo podemos algo nada todo esto eso ese esa cosa cosas raro rara
  urgente arreglar arreglo solucionar solucion resolver pasa paso pasando ocurre ocurrio sale salio aplicacion sistema pagina sitio programa servicio producto ordenador computadora
  soporte asistencia informacion saber se hacer hago hace hacen decir dime digame explicar explicame usar uso usando utilizar ya bien muy mucho mas menos no si
  tengo tenemos tiene hay estoy esta estan soy ser estar me te nos despues antes durante mientras tras cuanto ahora hoy siempre otra vez de nuevo alguien manera forma posible intento trato ok vale`.split(
    /\s+/,
  ),
);

/** Beginnings of Korean words: what follows is an ending or a particle. */
const korean =
  /^(?:도와|도움|문제|질문|문의|안되|안돼|안된|안됩|안됨|안$|못|오류|에러|고장|궁금|이거|그거|저거|이것|그것|저것|이게|그게|이건|그건|저기|여기|왜|뭐|뭔|뭘|무엇|무슨|어떻|어떡|어떤|어디|어느|언제|누구|누가|얼마|몇|안녕|여보세요|있|없|필요|해주|해줘|해결|해봐|부탁|좀$|제발|작동|동작|않|이상|생기|생겼|생긴|나요|났|나와|나왔|나는|나오|발생|되나|되는|되지|되요|되어|돼|됩니|됐|되면|하나요|하나$|하는|하고|하면|하지|하려|해야|할까|할게|할래|할지|할$|며칠|걸리|걸려|걸릴|합니|하죠|해요|했|해도|싶|저는|제가|저$|저희|내가|제$|우리|것|거$|거예|거야|건가|게$|수$|줄$|뭔가|갑자기|계속|자꾸|지금|오늘|다시|혹시|그냥|너무|정말|진짜|급해|급하|급합|빨리|알려|알고|말해|설명|가르|방법|사용|쓰는|쓰나|쓰고|쓰면|쓰려|쓰기|쓸|이용|고객|지원|서비스|상담|감사|고마|네$|예$|아니|응$|음$|그리고|그런데|근데|때$|때는|때문|경우|후$|후에|다음|동안|대해|대한|관련|관해|주세요|줘|줄래|봐|보세요|모르|몰라|이런|그런|저런|더$|많이|조금|같|컴퓨터|프로그램|시스템|제품|사이트|앱)/;

/** Chinese words that may stand one behind the other. */
const chinese =
  /^(?:帮帮|帮助|帮忙|帮|求助|救命|问题|疑问|有点|有|没有|没法|没|我们|我|你们|你|您|请问|请|一下|一些|一直|一个|个|一|能不能|能|可不可以|可以|怎么办|怎么样|怎么|怎样|如何|办法|办|不行|不能|不了|不|用|使用|了|出现|出错|出|错误|错|报错|报|坏|你好|您好|好|需要|想要|想|要|问|吗|呢|啊|吧|什么|为什么|为何|这个|这|那个|那|它|东西|咨询|客服|支持|遇到|些|点|法|工作|运行|正常|无法|解决|知道|告诉|的|地|得|在|是|和|与|会|被|把|到|就|还是|还|又|总是|突然|现在|今天|谢谢|多谢|哪个|哪里|哪些|哪|谁|多少|多|几|时候|时|之后|以后|后|如果|发生|故障|麻烦|很|太|非常|急|紧急|服务|应该|该|做|说|讲|解释|看|系统|程序|软件|产品|电脑|网站|再|也|都|给|让|对|从|过|着|里|上|下|来|去|行|事情|事)+$/;

/** Whether a folded word (see `wordsOf`) says nothing about the matter. */
export function isVagueWord(word: string): boolean {
  if (/\p{Script=Hangul}/u.test(word)) return korean.test(word);
  if (/\p{Script=Han}/u.test(word)) return chinese.test(word);
  if (!/\p{L}/u.test(word)) return /^\d?$/.test(word);
  return (
    english.has(word) || spanish.has(word) || word.endsWith("n't") || termsOf(word).length === 0
  );
}
