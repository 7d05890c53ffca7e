/** Facts and questions in four languages, written for this project; ids tell which fact answers. `absent` have no answer. */
export type Language = 'en' | 'ko' | 'es' | 'zh';

export const pairs: Readonly<
  Record<Language, readonly (readonly [fact: string, question: string])[]>
> = {
  en: [
    ['The user prefers short answers', 'How long should answers be: short?'],
    ['The user lives in Busan near the harbour', 'In which city does the user live?'],
    ['The user is allergic to peanuts', 'Which allergy do we know, is it peanuts?'],
    ['Her sister Mina studies medicine in Madrid', 'What does her sister study?'],
    ['The invoice goes to the accounting department', 'Where do invoices go?'],
    ['The delivery address is the warehouse on Pine Street', 'What is the delivery address?'],
    ['The contract ends in March 2027', 'When does the contract end?'],
    ['The printer on the second floor jams with thick paper', 'Why does the printer jam?'],
    ['The user drinks coffee without sugar', 'Does the user take sugar in coffee?'],
    ['Backups run every night at two', 'When do the backups run?'],
    ['The project is written in Kotlin', 'Which language is the project written in?'],
    ['The staging server has eight gigabytes of memory', 'How much memory has the staging server?'],
    ['Meetings on Friday are not possible', 'Can we put a meeting on Friday?'],
    ['The user rides a green bicycle to work', 'What colour is the bicycle?'],
    ['The dog is called Rex and is three years old', 'How old is the dog?'],
    ['The newsletter was cancelled in summer', 'Was the newsletter cancelled?'],
  ],
  ko: [
    ['사용자는 짧은 답변을 선호한다', '답변은 얼마나 짧게 해야 하나요?'],
    ['사용자는 부산 해운대에 산다', '부산 어디에 사나요?'],
    ['사용자는 땅콩 알레르기가 있다', '알레르기가 있나요?'],
    ['여동생 미나는 마드리드에서 의학을 공부한다', '여동생은 무엇을 공부하나요?'],
    ['청구서는 회계 부서로 보낸다', '청구서는 어디로 보내나요?'],
    ['배송 주소는 소나무길 창고이다', '배송 주소가 뭐예요?'],
    ['계약은 내년 삼월에 끝난다', '계약이 언제 끝나요?'],
    ['이층 프린터는 두꺼운 종이에서 자주 걸린다', '프린터가 왜 걸리나요?'],
    ['커피에 설탕을 넣지 않는다', '커피에 설탕을 넣나요?'],
    ['백업은 매일 밤 두 시에 돌아간다', '백업은 언제 돌아가나요?'],
    ['프로젝트는 코틀린으로 작성되었다', '프로젝트는 무슨 언어로 작성되었나요?'],
    ['스테이징 서버의 메모리는 팔 기가이다', '스테이징 서버 메모리는 얼마예요?'],
    ['금요일에는 회의를 할 수 없다', '금요일에 회의 가능한가요?'],
    ['초록색 자전거로 출근한다', '자전거는 무슨 색이에요?'],
    ['강아지 이름은 렉스이고 세 살이다', '강아지는 몇 살이에요?'],
    ['환불은 카드로만 받기를 원한다', '환불을 어떻게 받기를 원하나요?'],
  ],
  es: [
    ['El usuario prefiere respuestas cortas', '¿Cómo prefiere las respuestas?'],
    ['El usuario vive en Sevilla, cerca del río', '¿En qué ciudad vive?'],
    ['El usuario es alérgico a los cacahuetes', '¿A qué es alérgica la persona: cacahuete?'],
    ['Su hermana Mina estudia medicina en Madrid', '¿Qué estudia su hermana?'],
    ['La factura va al departamento de contabilidad', '¿Adónde van las facturas?'],
    ['La dirección de entrega es el almacén de la calle Pino', '¿Cuál es la direccion de entrega?'],
    ['El contrato termina en marzo de 2027', '¿Cuándo termina el contrato?'],
    [
      'La impresora del segundo piso se atasca con papel grueso',
      '¿Por qué se atasca la impresora?',
    ],
    ['Toma el café sin azúcar', '¿Toma azucar en el cafe?'],
    [
      'Las copias de seguridad corren cada noche a las dos',
      '¿A qué hora corren las copias de seguridad?',
    ],
    ['El proyecto está escrito en Kotlin', '¿En qué lenguaje está escrito el proyecto?'],
    ['El servidor de pruebas tiene ocho gigas de memoria', '¿Cuánta memoria tiene el servidor?'],
    ['Los viernes no hay reuniones', '¿Podemos tener una reunión el viernes?'],
    ['Va al trabajo en una bicicleta verde', '¿De qué color es la bicicleta?'],
    ['El perro se llama Rex y tiene tres años', '¿Cuántos años tiene el perro?'],
    ['El boletín se canceló en verano', '¿Se cancelo el boletín?'],
  ],
  zh: [
    ['用户喜欢简短的回答', '回答应该简短吗？'],
    ['用户住在上海浦东区', '用户住在上海哪里？'],
    ['用户对花生过敏', '用户对什么过敏？'],
    ['她的妹妹米娜在马德里学医', '妹妹在学什么？'],
    ['发票要寄到财务部门', '发票寄到哪里？'],
    ['送货地址是松树街的仓库', '送货地址是什么？'],
    ['合同明年三月到期', '合同什么时候到期？'],
    ['二楼的打印机遇到厚纸会卡纸', '打印机为什么卡纸？'],
    ['喝咖啡不加糖', '咖啡加糖吗？'],
    ['备份每天晚上两点运行', '备份什么时候运行？'],
    ['这个项目是用科特林写的', '项目是用什么语言写的？'],
    ['测试服务器有八个吉的内存', '测试服务器的内存有多少？'],
    ['星期五不能开会', '星期五可以开会吗？'],
    ['他骑绿色的自行车上班', '自行车是什么颜色？'],
    ['小狗叫雷克斯，今年三岁', '小狗几岁了？'],
    ['退款只退到信用卡', '退款退到哪里？'],
  ],
};

/** Questions that nothing in memory answers. */
export const absent: Readonly<Record<Language, readonly string[]>> = {
  en: [
    'What is the boiling point of tungsten?',
    'Who won the football championship?',
    'Which insurance covers the roof?',
    'Explain quantum tunnelling',
    'Translate this poem into Finnish',
    'Is there a gluten free menu?',
    'How tall is the lighthouse?',
    'Write a haiku',
  ],
  ko: [
    '텅스텐의 끓는점은 얼마인가요?',
    '축구 우승팀은 누구예요?',
    '지붕 보험은 무엇인가요?',
    '양자 터널링을 설명해 주세요',
    '이 시를 번역해 주세요',
    '글루텐 없는 식단이 있나요?',
    '등대 높이가 얼마예요?',
    '하이쿠 한 편 써 주세요',
  ],
  es: [
    '¿Cuál es el punto de ebullición del tungsteno?',
    '¿Quién ganó el campeonato de fútbol?',
    '¿Qué seguro cubre el tejado?',
    'Explica el efecto túnel cuántico',
    'Traduce este poema al finés',
    '¿Hay un menú sin gluten?',
    '¿Qué altura mide el faro?',
    'Escribe un haiku',
  ],
  zh: [
    '钨的沸点是多少？',
    '谁赢得了足球冠军？',
    '屋顶有什么保险？',
    '解释量子隧穿效应',
    '把这首诗翻译成芬兰语',
    '有无麸质菜单吗？',
    '灯塔有多高？',
    '写一首俳句',
  ],
};

/** Old value, new value, question: the second must be found, the first never. */
export const changes: Readonly<
  Record<Language, readonly (readonly [was: string, is: string, question: string])[]>
> = {
  en: [
    [
      'The office phone extension is forty',
      'The office phone extension is seventy',
      'What is the office phone extension?',
    ],
    [
      'The launch is planned for May',
      'The launch is planned for July',
      'When is the launch planned?',
    ],
  ],
  ko: [
    ['사무실 내선 번호는 사십이다', '사무실 내선 번호는 칠십이다', '사무실 내선 번호가 뭐예요?'],
    ['출시는 오월로 예정되어 있다', '출시는 칠월로 예정되어 있다', '출시는 언제 예정인가요?'],
  ],
  es: [
    [
      'La extensión de la oficina es cuarenta',
      'La extensión de la oficina es setenta',
      '¿Cuál es la extensión de la oficina?',
    ],
    [
      'El lanzamiento está previsto para mayo',
      'El lanzamiento está previsto para julio',
      '¿Para cuándo está previsto el lanzamiento?',
    ],
  ],
  zh: [
    ['办公室分机号是四十', '办公室分机号是七十', '办公室分机号是多少？'],
    ['发布计划在五月', '发布计划在七月', '发布计划在几月？'],
  ],
};

/** Harder: nothing answers them either, but each shares a word with a fact about something else. */
export const near: Readonly<Record<Language, readonly string[]>> = {
  en: [
    'What is the web address of the town hall library?',
    'Who invented the first printer with colour ribbons?',
    'Which museums in Madrid open after midnight?',
    'What does a new motor bicycle cost in Norway?',
  ],
  ko: [
    '시청 도서관의 인터넷 주소는 무엇이라고 하나요?',
    '세계 최초로 컬러 프린터를 발명한 사람은 누구예요?',
    '마드리드에서 자정 이후에 여는 박물관이 있나요?',
    '노르웨이에서 전기 자전거 가격은 얼마인가요?',
  ],
  es: [
    '¿Cuál es la dirección web de la biblioteca municipal?',
    '¿Quién inventó la primera impresora en color?',
    '¿Qué museos de Madrid abren después de medianoche?',
    '¿Cuánto cuesta una bicicleta eléctrica nueva en Noruega?',
  ],
  zh: [
    '市图书馆的网站地址叫什么名字？',
    '谁发明了世界上第一台彩色打印机？',
    '马德里有哪些博物馆午夜以后开放？',
    '挪威的电动自行车卖多少钱？',
  ],
};
