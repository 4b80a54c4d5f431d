// SIGTERM and SIGINT: everything that asked is stopped in good order, then the process ends as the signal meant.
// A second signal does not wait.

const stoppers = new Set<() => Promise<void>>()
let stopping = false

/** Answers with a way to take it back. */
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
