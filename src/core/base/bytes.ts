// Bytes and text, in Node and in browsers, which have no Buffer.

const hasBuffer = typeof Buffer !== 'undefined'

export function toBase64(bytes: Uint8Array): string {
  if (hasBuffer) return Buffer.from(bytes).toString('base64')
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/** A copy of its own, because a Buffer may share its memory with other Buffers. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (hasBuffer) return new Uint8Array(Buffer.from(text, 'base64'))
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}

/** The length of the text in UTF-8. */
export function byteLength(text: string): number {
  return hasBuffer ? Buffer.byteLength(text) : new TextEncoder().encode(text).length
}
