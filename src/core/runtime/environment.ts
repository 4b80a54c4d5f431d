// The environment variables of the process, for the few settings that are expected there.

/** The value of a variable. An empty variable counts as absent. */
export function environment(name: string): string | undefined {
  return process.env[name] || undefined
}
