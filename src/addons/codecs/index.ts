/**
 * `pawl/codecs`: codecs that compress, encrypt or offload stored values.
 *
 * Stable: an exported name changes incompatibly only in a minor version before 1.0, and only in a major version after.
 *
 * @packageDocumentation
 */

export type { Codec } from './codec.ts'
export { type CompressOptions, compress } from './compress.ts'
export { type EncryptOptions, encrypt, type Key } from './encrypt.ts'
export { type OffloadOptions, offload } from './offload.ts'
