/** The end of a dead session whose rows could not all be freed, because another transaction had locked some. */
export const DEAD = 0
