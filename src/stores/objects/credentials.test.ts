import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { CredentialSource, type Credentials, findCredentials } from './credentials.ts'
import { S3Bucket } from './s3-bucket.ts'
import { parseS3Url } from './s3-url.ts'

const VARIABLES = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_PROFILE']

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-credentials-'))
  for (const name of VARIABLES) vi.stubEnv(name, '')
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

async function writeProfiles(): Promise<void> {
  const lines = [
    '# made by hand',
    '[default]',
    'aws_access_key_id = DEFAULTKEY',
    'aws_secret_access_key=default-secret',
    '',
    '[ work ]',
    'AWS_ACCESS_KEY_ID = WORKKEY',
    'aws_secret_access_key = work/secret+with=signs',
    'aws_session_token = work-token',
    '[half]',
    'aws_access_key_id = HALFKEY',
  ]
  await writeFile(join(folder, 'credentials'), lines.join('\r\n'))
}

test('S3 store: credentials come from the environment, then from the profile, then not at all', async () => {
  await expect(findCredentials(undefined)()).rejects.toMatchObject({
    code: 'STORE_URL_INVALID',
    message: expect.stringContaining('AWS_ACCESS_KEY_ID'),
  })
  await writeProfiles()
  const find = (profile?: string): Promise<Credentials> => findCredentials(profile)()
  expect(await find()).toEqual({ accessKeyId: 'DEFAULTKEY', secretAccessKey: 'default-secret' })
  vi.stubEnv('AWS_PROFILE', 'work')
  expect(await find()).toEqual({
    accessKeyId: 'WORKKEY',
    secretAccessKey: 'work/secret+with=signs',
    sessionToken: 'work-token',
  })
  expect(await find('default')).toMatchObject({ accessKeyId: 'DEFAULTKEY' })
  await expect(find('half')).rejects.toMatchObject({ code: 'STORE_URL_INVALID' })
  await expect(find('absent')).rejects.toMatchObject({ code: 'STORE_URL_INVALID' })
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'ENVIRONMENTKEY')
  expect(await find('work')).toMatchObject({ accessKeyId: 'WORKKEY' })
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'environment-secret')
  expect(await find('work')).toEqual({
    accessKeyId: 'ENVIRONMENTKEY',
    secretAccessKey: 'environment-secret',
  })
})

test('S3 store: a function given by the program goes before everything else', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'ENVIRONMENTKEY')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'environment-secret')
  const credentials = vi.fn(async () => ({ accessKeyId: 'GIVEN', secretAccessKey: 'given' }))
  const bucket = await S3Bucket.open(parseS3Url('s3://bucket'), new VirtualClock(), { credentials })
  expect(credentials).toHaveBeenCalledOnce()
  await bucket.close()
})

test('S3 store: credentials are asked for again before they expire, once for all who wait', async () => {
  const clock = new VirtualClock()
  let asked = 0
  const source = new CredentialSource(async () => {
    asked += 1
    if (asked === 3) throw new Error('the giver is away')
    const expiresAt = clock.now() + 3_600_000
    return { accessKeyId: `KEY${asked}`, secretAccessKey: 'secret', expiresAt }
  }, clock)
  const three = await Promise.all([source.get(), source.get(), source.get()])
  expect(three.map(({ accessKeyId }) => accessKeyId)).toEqual(['KEY1', 'KEY1', 'KEY1'])
  await clock.advance(3_600_000 - 61_000)
  expect(await source.get()).toMatchObject({ accessKeyId: 'KEY1' })
  await clock.advance(2_000)
  expect(await source.get()).toMatchObject({ accessKeyId: 'KEY2' })
  // While the current credentials are valid, a provider that fails does no harm.
  await clock.advance(3_600_000 - 30_000)
  expect(await source.get()).toMatchObject({ accessKeyId: 'KEY2' })
  const current = await source.get()
  expect(current).toMatchObject({ accessKeyId: 'KEY4' })
  source.forget(current)
  expect(await source.get()).toMatchObject({ accessKeyId: 'KEY5' })
})

test('S3 store: a giver that fails is unavailable, and may be asked again', async () => {
  let fails = true
  const source = new CredentialSource(async () => {
    if (fails) throw new Error('the giver is away')
    return { accessKeyId: 'KEY', secretAccessKey: 'secret' }
  }, new VirtualClock())
  await expect(source.get()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  fails = false
  expect(await source.get()).toMatchObject({ accessKeyId: 'KEY' })
})

test('S3 store: a broken secret is refused without being shown', async () => {
  const broken: Credentials[] = [
    { accessKeyId: 'KEY', secretAccessKey: 'hush-hush\n' },
    { accessKeyId: 'KEY', secretAccessKey: 'secret', sessionToken: 'hush-hush\r\nx: y' },
    { accessKeyId: 'KEY', secretAccessKey: '' },
  ]
  for (const credentials of broken) {
    const error: unknown = await new CredentialSource(async () => credentials, new VirtualClock())
      .get()
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'STORE_URL_INVALID' })
    expect(String(error)).not.toContain('hush')
  }
})
