import { createTheme } from '@mantine/core';

/** Colours stand in styles/colours.css, for both schemes. */
export const theme = createTheme({
  cursorType: 'pointer',
  defaultRadius: 'md',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: 'md' } },
    TextInput: { defaultProps: { size: 'md' } },
    PasswordInput: { defaultProps: { size: 'md' } },
    Textarea: { defaultProps: { size: 'md' } },
    NativeSelect: { defaultProps: { size: 'md' } },
    SegmentedControl: { defaultProps: { size: 'sm' } },
    // Within the page's landmarks, where readers find them.
    Tooltip: { defaultProps: { openDelay: 400, position: 'bottom', portalProps: { target: '#tips' } } },
    Modal: { defaultProps: { transitionProps: { transition: 'fade', duration: 120 } } },
  },
});
