// Compresses bodies with Brotli, at a quality that costs about as much as gzip and makes JSON half as large as gzip does.
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { checkOptions, type Described, spelled, whole } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Codec } from './codec.ts'

export const compressOptions = {
  /** Only bodies with more bytes than this are compressed. Default: 1,024. */
  above: whole('Only bodies with more bytes than this are compressed.', [0, Number.MAX_SAFE_INTEGER], {
    otherwise: spelled(limits.compressAboveBytes),
  }),
} as const
export interface CompressOptions extends Described<typeof compressOptions> {}

/** The first byte of a compressed body names the algorithm, so that others can be added. */
const BROTLI = 1

const compressBytes = promisify(brotliCompress)
const decompressBytes = promisify(brotliDecompress)

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
      const small = Buffer.concat([Buffer.of(BROTLI), await compressBytes(bytes, { params })])
      // Bodies that do not shrink, such as encrypted ones, stay as they are.
      return small.byteLength < bytes.byteLength ? small : bytes
    },
    async decode(bytes) {
      if (bytes[0] !== BROTLI) {
        throw new PawlError(
          'CODEC_FAILED',
          `a body was compressed in a format that this pawl does not know (${bytes[0]}), or it is damaged. Upgrade pawl in this process.`,
        )
      }
      return decompressBytes(bytes.subarray(1), { maxOutputLength: limits.decompressedBytesMax })
    },
  }
}
