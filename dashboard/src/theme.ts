import { createTheme } from '@mantine/core';

/** The colors of both color schemes are in styles/colors.css. */
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
    // Inside <main>, so that screen readers find tooltips.
    Tooltip: { defaultProps: { openDelay: 400, position: 'bottom', portalProps: { target: '#tips' } } },
    Modal: { defaultProps: { transitionProps: { transition: 'fade', duration: 120 } } },
  },
});
