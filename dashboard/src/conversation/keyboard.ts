/**
 * A phone's keyboard covers the end of the page. Its height is the CSS variable --keyboard, so that what sticks to the end
 * stays above it. Meanwhile the page has `data-keyboard`.
 */
const viewport = window.visualViewport;
/** The bars of a browser are lower. */
const KEYBOARD_MIN_PX = 120;

function measure(): void {
  if (!viewport) return;
  const covered = window.innerHeight - viewport.height - viewport.offsetTop;
  // Zooming in also shrinks what is visible.
  const height = viewport.scale > 1 ? 0 : Math.max(0, Math.round(covered));
  document.documentElement.style.setProperty('--keyboard', `${height}px`);
  document.documentElement.toggleAttribute('data-keyboard', height > KEYBOARD_MIN_PX);
}

/** Little is left of the screen: shows the end of the conversation right above what the user writes. */
function showEnd(): void {
  if (!document.activeElement?.closest('.composer') || !isLow.matches) return;
  const log = document.querySelector('.conversation-log');
  if (!log) return;
  log.scrollTop = log.scrollHeight;
  log.scrollIntoView({ block: 'end' });
}

const isLow = window.matchMedia('(max-height: 560px)');
isLow.addEventListener('change', showEnd);
document.addEventListener('focusin', showEnd);
viewport?.addEventListener('resize', measure);
viewport?.addEventListener('scroll', measure);

export {};
