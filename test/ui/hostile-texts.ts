// 200 texts that try to leave their place: markup, scripts, addresses, quotes, directions of writing, very long words.
const act = "window.pwned='yes';alert(1)"
const long = 'x'.repeat(200)

const shapes: readonly ((inner: string) => string)[] = [
  (inner) => `<script>${inner}</script>`,
  (inner) => `<img src=x onerror="${inner}">`,
  (inner) => `<svg onload='${inner}'>`,
  (inner) => `"><script>${inner}</script>`,
  (inner) => `'-${inner}-'`,
  (inner) => `javascript:${inner}`,
  (inner) => `data:text/html,<script>${inner}</script>`,
  (inner) => `<iframe srcdoc="<script>${inner}</script>">`,
  (inner) => `</title></style></textarea><script>${inner}</script>`,
  (inner) => `<a href="javascript:${inner}">x</a>`,
  (inner) => `\${${inner}}{{${inner}}}<%= ${inner} %>`,
  (inner) => `<style>*{display:none}</style>${inner}`,
  (inner) => `\u202e${inner}\u2066`,
  (inner) => `${inner}\u0000\u001b[31m`,
  (inner) => `${long}${inner}`,
  (inner) => `${inner} ${'é'.repeat(40)} ${'漢'.repeat(60)} ${'🜚'.repeat(40)}`,
  (inner) => `../../${inner}/..%2f..%2f?q=${inner}#${inner}`,
  (inner) => `__proto__ constructor ${inner}`,
  (inner) => `&lt;b&gt;${inner}&quot;&#x3c;`,
  (inner) => `|| ${inner} ; DROP TABLE runs; --`,
]
const inners = [act, 'alert`1`', 'top.location="//evil"', 'fetch("//evil")', ' ', '<b>', '"', "'", '`', '\u2028x']

export const hostileTexts: readonly string[] = shapes.flatMap((shape) => inners.map(shape))
