import { QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, Suspense } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { Shell, Top } from './components/shell.tsx'
import { Skeleton, Teach } from './components/states.tsx'
import { Toasts } from './components/toasts.tsx'
import { needsToken, queries } from './data/client.ts'
import { useShared } from './data/store.ts'
import { FIRST, pages } from './pages/index.ts'
import { SignIn } from './pages/sign-in.tsx'

const items = pages.flatMap(({ nav }) => (nav ? [nav] : []))

export function App(): ReactNode {
  const isOut = useShared(needsToken)
  return (
    <QueryClientProvider client={queries}>
      {isOut ? (
        <SignIn />
      ) : (
        <Shell items={items}>
          <Suspense fallback={<Skeleton />}>
            <Switch>
              {pages.map(({ path, component }) => (
                <Route key={path} path={path} component={component} />
              ))}
              <Route path="/">
                <Redirect to={FIRST} replace />
              </Route>
              <Route>
                <Missing />
              </Route>
            </Switch>
          </Suspense>
        </Shell>
      )}
      <Toasts />
    </QueryClientProvider>
  )
}

function Missing(): ReactNode {
  return (
    <>
      <Top>
        <b>Not here</b>
      </Top>
      <Teach title="There is no such page" about="The address may be of a later version, or cut off." />
    </>
  )
}
