// The seeds of a simulation: PAWL_SEEDS raises their number, PAWL_SEED_FIRST moves on.
export const count = Number(process.env['PAWL_SEEDS'] ?? 2_000)
export const first = Number(process.env['PAWL_SEED_FIRST'] ?? 1)
