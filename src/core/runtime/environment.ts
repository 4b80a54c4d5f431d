// The environment of the process, for those few settings that everybody expects to find there.

/** An empty variable is as good as none. */
export function environment(name: string): string | undefined {
  return process.env[name] || undefined
}
