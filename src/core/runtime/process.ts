// The process that pawl runs in: its environment variables, and the signals that stop it.

/** The value of an environment variable. An empty variable counts as absent. */
export function environment(name: string): string | undefined {
  return process.env[name] || undefined
}

// SIGTERM and SIGINT: runs all registered stop functions, then ends the process with the exit code of the signal. A
// second signal ends it at once.

const stoppers = new Set<() => Promise<void>>()
let stopping = false

/** Registers a stop function. The returned function removes it. */
export function onShutdown(stop: () => Promise<void>): () => void {
  if (stoppers.size === 0) {
    process.on('SIGTERM', shutDown)
    process.on('SIGINT', shutDown)
  }
  stoppers.add(stop)
  return () => {
    if (!stoppers.delete(stop) || stoppers.size > 0) return
    process.off('SIGTERM', shutDown)
    process.off('SIGINT', shutDown)
  }
}

function shutDown(signal: NodeJS.Signals): void {
  const code = signal === 'SIGINT' ? 130 : 143
  if (stopping) process.exit(code)
  stopping = true
  void Promise.allSettled([...stoppers].map((stop) => stop())).then(() => process.exit(code))
}
