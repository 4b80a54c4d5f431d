// What users import from 'pawl/codecs'.
export type { Codec } from '../../core/stores/driver.ts'
export { type CompressOptions, compress } from './compress.ts'
export { type EncryptOptions, encrypt, type Key } from './encrypt.ts'
export { type OffloadOptions, offload } from './offload.ts'
