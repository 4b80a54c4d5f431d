// Where log lines go unless the user says otherwise: standard error, one line each.

export interface Logger {
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: object): void
}

export const consoleLogger: Logger = {
  log(level, message, fields) {
    const rest = fields && Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''
    console.error(`pawl ${level}: ${message}${rest}`)
  },
}
