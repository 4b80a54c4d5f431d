// Brotli at a quality where it costs about what gzip does, and makes JSON half as large as that.
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { checkOptions, type Described, spelled, whole } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Codec } from '../../core/stores/driver.ts'

export const compressOptions = {
  /** Bodies of at most so many bytes are left alone. 1,024 */
  above: whole('Bodies of at most so many bytes are left alone.', [0, Number.MAX_SAFE_INTEGER], {
    otherwise: spelled(limits.compressAboveBytes),
  }),
} as const
export interface CompressOptions extends Described<typeof compressOptions> {}

/** The first byte says how the rest was compressed, so that there can be other ways later. */
const BROTLI = 1

const squeeze = promisify(brotliCompress)
const expand = promisify(brotliDecompress)

export function compress(options: CompressOptions = {}): Codec {
  checkOptions(compressOptions, options, { of: 'compress' })
  const { above = limits.compressAboveBytes } = options
  return {
    id: 'compress',
    async encode(bytes) {
      if (bytes.byteLength <= above) return bytes
      const params = {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_QUALITY]: 4,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
      }
      const small = Buffer.concat([Buffer.of(BROTLI), await squeeze(bytes, { params })])
      // What was encrypted before does not get any smaller.
      return small.byteLength < bytes.byteLength ? small : bytes
    },
    async decode(bytes) {
      if (bytes[0] !== BROTLI) {
        throw new PawlError(
          'CODEC_FAILED',
          `this was compressed in a way that this pawl does not know (${bytes[0]}), or it is damaged. Upgrade pawl in this process.`,
        )
      }
      return expand(bytes.subarray(1), { maxOutputLength: limits.decompressedBytesMax })
    },
  }
}
