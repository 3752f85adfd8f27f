/** The page's entry: takes the token out of the address, then mounts the page. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { takeTokenFromAddress } from './access/token.ts';
import { App } from './app.tsx';
import { readTheme, showTheme } from './base/theme.ts';

takeTokenFromAddress();
showTheme(readTheme());
const root = document.getElementById('page');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
