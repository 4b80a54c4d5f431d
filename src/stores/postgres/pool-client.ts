// A connection of a pool, for several queries in a row.
import type pg from 'pg'

/**
 * A connection that is lost between two queries emits an error, and the pool does not listen while it is lent: without
 * a listener the process would end. The next query fails. After a failure the connection is not used again, because it
 * may be lost, in the middle of a transaction, or still busy.
 */
export async function withClient<T>(
  connecting: Promise<pg.PoolClient>,
  use: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await connecting
  let isSound = true
  const lose = (): void => {
    isSound = false
  }
  client.on('error', lose)
  try {
    return await use(client)
  } catch (error) {
    lose()
    throw error
  } finally {
    client.off('error', lose)
    client.release(!isSound)
  }
}
