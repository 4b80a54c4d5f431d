/** When a session ends that is dead and still has something that could not be freed, since it was locked. */
export const DEAD = 0
