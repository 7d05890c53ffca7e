/**
 * English words for what Korean, Spanish and Chinese questions about a server like this are about, so that they find English
 * documents without a model. Patterns match folded text; each stands at the beginning of a word, in Chinese anywhere.
 */
interface Entry {
  readonly pattern: RegExp;
  readonly english: string;
}

const entry = (english: string, ko: string, zh: string, es: string): Entry => ({
  english,
  pattern: new RegExp(`(?<![가-힣])(?:${ko})|${zh}|(?<!\\p{L})(?:${es})`, 'gu'),
});

export const glossary: readonly Entry[] = [
  entry('stream', '스트림|스트리밍', '流式|数据流|流', 'stream|flujo|transmision'),
  entry('connection', '연결|접속|커넥션', '连接|断线|掉线|断开', 'conexion|conect'),
  entry(
    'lost dropped disconnects',
    '끊|유실',
    '中断|断线|掉线|断',
    'corta|corto|corte|pierd|perd|desconect|cae|cayo',
  ),
  entry(
    'resume reconnect',
    '재개|이어|재연결|재접속',
    '恢复|续传|继续|重连|接着',
    'reanud|retom|reconect|continu',
  ),
  entry('message', '메시지|메세지', '消息|信息', 'mensaje'),
  entry('thread conversation', '스레드|쓰레드|대화', '线程|对话|会话', 'hilo|conversacion'),
  entry('turn', '턴', '轮次|回合', 'turno'),
  entry('delete', '삭제|지우|지울|지워', '删除|删掉|清除', 'borr|elimin'),
  entry('idempotency key', '멱등', '幂等', 'idempoten'),
  entry('retry safe', '재시도|재전송', '重试|重发', 'reintent'),
  entry('twice', '중복|두번', '重复|两次', 'duplic|repetid|dos\\s+veces'),
  entry('database', '데이터베이스|디비', '数据库', 'base\\s+de\\s+datos'),
  entry('production hosts', '배포|운영|프로덕션', '部署|上线|生产', 'despleg|desplieg|produccion'),
  entry('scaling more workers', '확장|스케일', '扩展|扩容|伸缩', 'escal'),
  entry('upgrading downtime', '업그레이드|무중단|업데이트', '升级|更新|停机', 'actualiz'),
  entry(
    'settings environment variables',
    '설정|환경',
    '设置|配置|环境变量',
    'configur|ajuste|variable',
  ),
  entry('port', '포트', '端口', 'puerto'),
  entry('model', '모델', '模型', 'modelo'),
  entry('key', '키', '密钥|键', 'clave'),
  entry('memory remember', '기억|메모리', '记忆|记住|内存', 'memoria|record|recuerd'),
  entry('erase', '소거|말소', '抹除|清空', 'suprim'),
  entry('personal data', '개인정보|개인', '个人信息|个人|隐私', 'personal|privacidad'),
  entry('backup', '백업', '备份', 'copia|respald|backup'),
  entry('restore', '복구|복원', '还原|恢复备份', 'restaur'),
  entry('crash', '크래시|죽|다운|비정상', '崩溃|宕机|挂了|死机', 'caida|choque|muere|bloque'),
  entry('cancel stop', '취소|중단|멈추|정지', '取消|停止|中止', 'cancel|deten|parar'),
  entry(
    'limit sizes',
    '제한|한도|최대|크기|길이',
    '限制|上限|最大|大小|长度',
    'limite|maxim|tamano',
  ),
  entry('order', '순서', '顺序|次序', 'orden'),
  entry('version', '버전', '版本', 'version'),
  entry('authentication', '인증|로그인', '认证|登录|鉴权|验证', 'autentic|sesion'),
  entry('graph', '그래프', '图', 'grafo'),
  entry('worker', '워커', '工作进程|工作者', 'worker|trabajador'),
  entry('gateway', '게이트웨이', '网关', 'gateway|pasarela'),
  entry('health checks', '헬스', '健康检查', 'salud'),
  entry('documents', '문서', '文档|文件', 'documento'),
  entry('fields form', '필드|양식|폼', '字段|表单', 'campo|formulario'),
  entry('storage', '저장', '存储|保存', 'almacen|guard'),
  entry('history messages', '기록|내역|이력', '历史|记录', 'historial'),
  entry('deadlines', '시간\\s*초과|타임아웃', '超时', 'plazo|tiempo\\s+limite'),
  entry('reply', '답변|응답', '回复|回答|答复', 'respuest'),
];
