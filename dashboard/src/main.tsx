import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './App.tsx';
import { en } from './i18n/en.ts';
import { LanguageProvider, loadTexts, preferredLanguage } from './i18n/translation.tsx';
import { restoreSession } from './session/session.ts';
import './styles/index.ts';

const language = preferredLanguage();
// Load the language and the session at the same time.
void restoreSession();
const texts = await loadTexts(language).catch(() => en);

createRoot(document.getElementById('app')!).render(
  <StrictMode>
    <LanguageProvider language={language} texts={texts}>
      <App />
    </LanguageProvider>
  </StrictMode>,
);
