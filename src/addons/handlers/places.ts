// A URL as errors and logs tell it: queries and fragments may hold what nobody should read there.

export function placeOfUrl(url: URL): string {
  return `${url.origin}${url.pathname.length > 200 ? `${url.pathname.slice(0, 200)}…` : url.pathname}`
}
