// Signals that stop a command which runs until then.

export interface StopSignal {
  /** Resolves at the first SIGTERM, SIGINT or SIGHUP. */
  readonly stopped: Promise<NodeJS.Signals>
}

/** Listens for signals. The second one calls `stopNow` and ends the process. */
export function stopSignal(stopNow: () => void = () => {}): StopSignal {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let isStopping = false
  const stop = (signal: NodeJS.Signals): void => {
    if (isStopping) {
      stopNow()
      process.exit(signal === 'SIGINT' ? 130 : 143)
    }
    isStopping = true
    resolve(signal)
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
  return { stopped: promise }
}
