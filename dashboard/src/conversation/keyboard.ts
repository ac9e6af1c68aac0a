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

viewport?.addEventListener('resize', measure);
viewport?.addEventListener('scroll', measure);

export {};
