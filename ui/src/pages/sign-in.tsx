// Asks for a token. It is kept in the storage of the tab, not in a cookie, so that no other page can use it unseen.
import { type FormEvent, type ReactNode, useState } from 'react'
import { CopyButton } from '../components/copy-button.tsx'
import { Icon } from '../components/icon.tsx'
import { codeOf, signIn } from '../data/client.ts'
import { text } from '../text.ts'

export function SignIn(): ReactNode {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string>()
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    try {
      await signIn(token.trim())
    } catch (error) {
      setProblem(codeOf(error) === 'UNAUTHENTICATED' ? text.signIn.wrong : String((error as Error).message))
    }
  }
  return (
    <main className="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <p className="brand">
          <Icon name="pawl" /> {text.product}
        </p>
        <h1>{text.signIn.title}</h1>
        <label className="field">
          <span>{text.signIn.token}</span>
          <input
            className="text mono"
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            value={token}
            onChange={({ target }) => setToken(target.value)}
          />
        </label>
        {problem !== undefined && (
          <p className="failed" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" className="btn primary">
          {text.signIn.act}
        </button>
        <p className="muted">{text.signIn.about}</p>
        <p className="muted">{text.signIn.how}</p>
        <p className="snippet">
          <code>{text.signIn.command}</code>
          <CopyButton value={text.signIn.command} />
        </p>
      </form>
    </main>
  )
}
