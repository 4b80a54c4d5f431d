import { describe, expect, test } from 'vitest'
import { isRefused } from '../../core/runtime/availability.ts'
import { explain } from './connection.ts'

describe('stores D1: what an error of Postgres means', () => {
  test.each([
    ['22P02', 'invalid input syntax for type integer'],
    ['22P02', 'invalid input syntax for type uuid: "no such database"'],
    ['23505', 'duplicate key value violates unique constraint'],
    ['54000', 'index row size 2712 exceeds btree version 4 maximum 2704 for index "inbox_pkey"'],
  ])('%s: %s is the fault of what was sent', (code, message) => {
    expect(isRefused(explain({ code, message }))).toBe(true)
  })

  test.each([
    ['54000', 'too many notifications in the NOTIFY queue'],
    ['54001', 'stack depth limit exceeded'],
    ['53300', 'sorry, too many clients already'],
    ['57P01', 'terminating connection due to administrator command'],
  ])('%s: %s passes', (code, message) => {
    expect(explain({ code, message })).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  test.each([
    ['42939', 'unacceptable schema name "pg_x"'],
    ['08P01', 'no such database: nowhere'],
    [undefined, 'The server does not support SSL connections'],
  ])('%s: %s is for who wrote the URL', (code, message) => {
    expect(explain({ code, message })).toMatchObject({ code: 'STORE_URL_INVALID' })
  })
})
