import type { Words } from './types.ts';

export const spanish: Words = {
  itself: 'Español',
  down: (names, count, of) =>
    count <= 3 ? `${names}: sin servicio` : `${count} de ${of} servicios no funcionan`,
  reported: (names, count, impact) => {
    if (count > 3) return `${count} servicios afectados`;
    const words = {
      degraded: 'rendimiento reducido',
      partial_outage: 'caída parcial',
      major_outage: 'caída grave',
    };
    return `${names}: ${words[impact]}`;
  },
  maintenanceNow: (names) => `Mantenimiento en curso: ${names}`,
  allUp: 'Todo funciona',
  pending: 'Todavía sin datos',
  empty: 'Todavía no hay nada publicado aquí',
  sinceFor: (at, duration) => `Desde ${at}, hace ${duration}.`,
  until: (at) => `Hasta ${at}.`,
  states: {
    up: 'En servicio',
    down: 'Sin servicio',
    degraded: 'Rendimiento reducido',
    partial_outage: 'Caída parcial',
    major_outage: 'Caída grave',
    maintenance: 'Mantenimiento',
    paused: 'En pausa',
    pending: 'Todavía sin datos',
  },
  witnesses: {
    fail: 'sin servicio',
    ok: 'en servicio',
    unknown: 'sin resultado',
  },
  slow: 'Respuestas lentas',
  dayCounts: {
    down: (count) => `una caída en ${days(count)}`,
    maintenance: (count) => `mantenimiento en ${days(count)}`,
    unknown: (count) => `sin datos en ${days(count)}`,
    up: (count) => `en servicio en ${days(count)}`,
  },
  barsOf: (count) => (count === 1 ? 'El último día' : `Los últimos ${count} días`),
  legend: { up: 'en servicio', down: 'caída', maintenance: 'mantenimiento', unknown: 'sin datos' },
  eachBar: 'Una barra por día:',
  today: 'hoy',
  objectives: 'Niveles de servicio',
  promised: (target, within, period) =>
    `Prometido: ${target}${within === null ? '' : ` en ${within} como máximo`} ${period === '30d' ? 'en 30 días' : 'este mes'}`,
  kept: 'Cumplido',
  missed: 'No cumplido',
  uptimeOver: (count) => `Disponibilidad en ${days(count)}`,
  posts: {
    announcement: 'Aviso',
    investigating: 'En investigación',
    identified: 'Causa encontrada',
    monitoring: 'En observación',
    resolved: 'Resuelto',
  },
  postMortem: 'Análisis posterior',
  affects: 'Afecta a',
  incident: (names) => `Caída: ${names}`,
  incidentOver: (duration) => `Resuelto tras ${duration}`,
  running: 'Mantenimiento en curso',
  coming: 'Mantenimiento previsto',
  fromTo: (from, to) => `${from} – ${to}`,
  past: 'Incidentes pasados',
  noneRecent: 'Ningún incidente en los últimos 14 días',
  noneThen: 'Ningún incidente en este mes',
  allPast: 'Historial por meses',
  back: 'Todos los servicios',
  updates: 'Suscribirse',
  mailLabel: 'Su dirección de correo',
  mailSubmit: 'Suscribirse',
  mailNote: 'Primero enviamos un enlace para confirmar. Puede darse de baja en cada correo.',
  webhookLabel: 'Webhook',
  webhookUrl: 'URL de su servidor',
  webhookNote:
    'Primero enviamos un POST con un reto. Su servidor debe responder con el texto de data.challenge. Los mensajes van firmados (Standard Webhooks).',
  feeds: 'Fuentes',
  calendar: 'Calendario de mantenimiento',
  aboutUs: 'Sobre esta monitorización',
  measured: 'Cómo se mide la disponibilidad',
  measuredText: [
    'Cada servicio se comprueba día y noche desde varios continentes.',
    'Un servicio se da por caído solo cuando un segundo continente ve también el fallo. Una mala línea por sí sola no es una caída.',
    'La disponibilidad es el tiempo en servicio, dividido por el tiempo en servicio o caído. El mantenimiento, las pausas y el tiempo sin datos no cuentan, ni tampoco los incidentes comunicados a mano: la disponibilidad se mide.',
    'Las cifras se redondean hacia abajo: 100 % significa que no hubo ninguna caída.',
    'Lo que ve tiene como mucho diez segundos, salvo que la página diga otra cosa.',
  ],
  language: 'Idioma',
  timesIn: (zone) => `Horas en ${zone}`,
  asOf: (at) => `Estado: ${at}`,
  stale: (at) => `Datos de ${at}. Ahora no hay datos más recientes.`,
  day: 'Día',
  outage: 'Caída',
  noTrouble: 'Ninguna caída ni mantenimiento en los últimos 90 días',
  gone: 'Página de estado no encontrada',
  goneText: 'La dirección no es correcta, o la página fue retirada.',
  away: 'El estado no está disponible ahora',
  awayText: 'Eso no dice nada de los servicios. Inténtelo de nuevo en un minuto.',
  locked: 'Esta página de estado es privada',
  lockedByLink: 'Ábrala con el enlace que recibió.',
  password: 'Contraseña',
  enter: 'Abrir',
  wrong: 'Contraseña incorrecta',
  tooMany: 'Demasiados intentos. Inténtelo de nuevo en 15 minutos.',
  subscribing: {
    asked: 'Revise su correo',
    askedText:
      'Si esta dirección todavía no está suscrita, le hemos enviado un enlace para confirmar.',
    confirm: '¿Confirmar su suscripción?',
    confirmButton: 'Confirmar suscripción',
    confirmed: 'Está suscrito',
    dead: 'Este enlace ha caducado',
    deadText: 'Suscríbase de nuevo en la página de estado.',
    leave: '¿Darse de baja?',
    leaveButton: 'Darse de baja',
    left: 'Se ha dado de baja',
    badAddress: 'Esto no es una dirección de correo',
    often: 'Demasiados intentos. Inténtelo de nuevo en 15 minutos.',
    webhook: {
      secret: 'Con este secreto se verifican las firmas. Solo se muestra una vez.',
      leave: 'Para darse de baja, abra este enlace. Cada mensaje también lo contiene.',
      invalid: [
        'Esto no es una URL https://',
        'Escriba la dirección completa, sin nombre de usuario.',
      ],
      taken: [
        'Esta URL ya está suscrita',
        'Para suscribirla de nuevo, dela de baja primero con el enlace de sus mensajes.',
      ],
      full: [
        'Esta página no admite más webhooks',
        'Todavía puede suscribirse por correo o por canal.',
      ],
      unproved: [
        'Su servidor no respondió al reto',
        'Debe responder a nuestro POST en 10 segundos, con el estado 200 y el texto de data.challenge.',
      ],
    },
  },
  usual: {
    investigating: (names, count) =>
      `${names} no ${work(count)} con normalidad. Estamos buscando la causa.`,
    identified: (names, count) =>
      `Sabemos por qué ${names} no ${work(count)} y lo estamos reparando.`,
    monitoring: (names, count) => `${names} ${workAgain(count)}. Estamos comprobando que siga así.`,
    resolved: (names, count) => `${names} ${workAgain(count)} con normalidad.`,
  },
  oneCause: (count) => `Una misma causa afecta a ${count} servicios`,
  services: (count) => `${count} servicios`,
  mail: {
    locale: 'es-ES',
    optIn: {
      subject: (title) => `Confirme su suscripción a ${title}`,
      sentence: (title) =>
        `Abra este enlace en dos días para recibir por correo los avisos de ${title}.`,
      label: 'Confirmar suscripción',
      because:
        'Alguien introdujo su dirección en esta página de estado. Si no fue usted, ignore este correo: no recibirá ningún otro.',
    },
    began: {
      subject: (name) => `${name}: sin servicio`,
      sentence: (name, at) => `${name}: sin servicio desde el ${at}.`,
    },
    over: {
      subject: (name) => `${name}: de nuevo en servicio`,
      sentence: (name, from, to) =>
        `${name} está de nuevo en servicio. La caída duró del ${from} al ${to}.`,
    },
    see: 'Ver la página de estado',
    or: 'O abra esta dirección:',
    because: (title, leave) => `Está suscrito a los avisos de ${title}. Darse de baja: ${leave}`,
  },
  badge: { status: 'estado', uptime: 'disponibilidad', response: 'respuesta' },
};

function days(count: number): string {
  return count === 1 ? '1 día' : `${count} días`;
}

function work(count: number): string {
  return count === 1 ? 'funciona' : 'funcionan';
}

function workAgain(count: number): string {
  return `${count === 1 ? 'vuelve' : 'vuelven'} a funcionar`;
}
