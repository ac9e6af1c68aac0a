import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './App.tsx';
import { en } from './i18n/en.ts';
import { LanguageProvider, loadTexts, preferredLanguage } from './i18n/language.tsx';
import { resume } from './session/session.ts';
import './styles/index.ts';

const language = preferredLanguage();
// The language and the session are asked for side by side.
void resume();
const texts = await loadTexts(language).catch(() => en);

createRoot(document.getElementById('app')!).render(
  <StrictMode>
    <LanguageProvider language={language} texts={texts}>
      <App />
    </LanguageProvider>
  </StrictMode>,
);
