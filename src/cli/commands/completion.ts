// Completion for shells, made from the commands themselves: verbs, flags, and the values that a flag or an argument may
// have.
import { Argument, Command } from 'commander'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** What may follow some words: a word, and what it means. */
interface Word {
  readonly text: string
  readonly about: string
}

/** The words of one command: `pawl runs`, `pawl token create`. */
interface Place {
  readonly path: string
  readonly verbs: readonly Word[]
  readonly flags: readonly Word[]
  /** Values of flags, by flag. An empty list: any value. */
  readonly values: Readonly<Record<string, readonly string[]>>
}

export function completionCommand(): Command {
  const shell = new Argument('<shell>', 'the shell to complete in').choices(SHELLS)
  return new Command('completion')
    .description('print a script that completes commands in your shell')
    .addArgument(shell)
    .addHelpText('after', help)
    .action((name: Shell, _: object, command: Command) => {
      const program = command.parent ?? command
      process.stdout.write(scripts[name](placesOf(program)))
    })
}

const help = `
Examples:
  $ source <(pawl completion bash)                                      in ~/.bashrc
  $ source <(pawl completion zsh)                                       in ~/.zshrc, after compinit
  $ pawl completion fish > ~/.config/fish/completions/pawl.fish`

function placesOf(command: Command, path = 'pawl'): Place[] {
  const inner = command.commands.filter((each) => each.name() !== 'help')
  const verbs = inner.map((each) => ({ text: each.name(), about: each.description() }))
  const options = command.options.filter(({ hidden }) => !hidden)
  const named = options.flatMap((each) => (each.long === undefined ? [] : [{ ...each, long: each.long }]))
  const flags = [...named.map(({ long, description }) => ({ text: long, about: description })), helpFlag]
  const valued = options.filter(({ required, optional }) => required || optional)
  const values = valued.map(({ long, argChoices = [] }) => [long ?? '', argChoices] as const)
  const own: Place = { path, verbs, flags, values: Object.fromEntries(values) }
  return [own, ...inner.flatMap((each) => placesOf(each, `${path} ${each.name()}`))]
}

const helpFlag: Word = { text: '--help', about: 'show the help' }

const scripts: Readonly<Record<Shell, (places: readonly Place[]) => string>> = { bash, zsh, fish }

function bash(places: readonly Place[]): string {
  return `# Completion of pawl for bash.
_pawl() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} place=pawl i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place \${COMP_WORDS[i]}" in
      ${paths(places)}) place="$place \${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$place $before" in
${valueCases(places, (values) => (values.length === 0 ? 'return' : `COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$word")); return`))}
  esac
  case "$place" in
${wordCases(places, (words) => `COMPREPLY=($(compgen -W '${words}' -- "$word"))`)}
  esac
}
complete -o default -F _pawl pawl
`
}

function zsh(places: readonly Place[]): string {
  return `#compdef pawl
# Completion of pawl for zsh.
_pawl() {
  local word=\${words[CURRENT]} before=\${words[CURRENT-1]} place=pawl i
  for ((i = 2; i < CURRENT; i++)); do
    case "$place \${words[i]}" in
      ${paths(places)}) place="$place \${words[i]}" ;;
    esac
  done
  case "$place $before" in
${valueCases(places, (values) => (values.length === 0 ? '_files; return' : `compadd -- ${values.join(' ')}; return`))}
  esac
  case "$place" in
${wordCases(places, (words) => `compadd -- ${words}`)}
  esac
  _files
}
compdef _pawl pawl
`
}

/** Cases of words after a flag that takes a value. */
function valueCases(places: readonly Place[], then: (values: readonly string[]) => string): string {
  const cases = places.flatMap(({ path, values }) =>
    Object.entries(values).map(([flag, allowed]) => `    ${quoted(`${path} ${flag}`)}) ${then(allowed)} ;;`),
  )
  return cases.join('\n')
}

function wordCases(places: readonly Place[], then: (words: string) => string): string {
  const cases = places.map(({ path, verbs, flags }) => {
    const words = [...verbs, ...flags].map(({ text }) => text).join(' ')
    return `    ${quoted(path)}) ${then(words)} ;;`
  })
  return cases.join('\n')
}

function paths(places: readonly Place[]): string {
  return places
    .slice(1)
    .map(({ path }) => quoted(path))
    .join(' | ')
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap((place) => {
    const [, ...verbs] = place.path.split(' ')
    const seen = verbs.map((verb) => `__fish_seen_subcommand_from ${verb}`)
    const inner = place.verbs.map(({ text }) => text).join(' ')
    const none = inner === '' ? [] : [`not __fish_seen_subcommand_from ${inner}`]
    const condition = [...seen, ...none].join('; and ')
    const when = condition === '' ? '' : ` -n ${quoted(condition)}`
    const words = place.verbs.map(({ text, about }) => `complete -c pawl${when} -a ${text} -d ${quoted(about)}`)
    return [...words, ...place.flags.map((flag) => fishFlag(flag, place, when))]
  })
  return `# Completion of pawl for fish.\n${lines.join('\n')}\n`
}

function fishFlag({ text, about }: Word, { values }: Place, when: string): string {
  const allowed = values[text]
  const value = allowed === undefined ? '' : allowed.length === 0 ? ' -r' : ` -x -a ${quoted(allowed.join(' '))}`
  return `complete -c pawl${when} -l ${text.slice(2)}${value} -d ${quoted(about)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
