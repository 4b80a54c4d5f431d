// A connection of a pool, for several queries in a row.
import type pg from 'pg'

/**
 * A connection that is lost between two queries has nobody to tell, and the pool does not listen while it is lent: without
 * a listener the whole process would end. The next query fails, and the connection is not used again.
 */
export async function withClient<T>(
  connecting: Promise<pg.PoolClient>,
  use: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await connecting
  let lost = false
  const lose = (): void => {
    lost = true
  }
  client.on('error', lose)
  try {
    return await use(client)
  } finally {
    client.off('error', lose)
    client.release(lost)
  }
}
