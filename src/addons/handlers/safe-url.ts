// URLs for errors and logs.

/** The URL without its query and fragment, which may hold secrets. */
export function safeUrl(url: URL): string {
  return `${url.origin}${url.pathname.length > 200 ? `${url.pathname.slice(0, 200)}…` : url.pathname}`
}
