import './styles/tokens.css'
import './styles/base.css'
import './styles/parts.css'
import './styles/runs.css'
import './styles/run.css'
import './styles/pages.css'
import './styles/run-more.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyTheme } from './data/settings.ts'

applyTheme()
const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
