/** Line icons on a 24 × 24 grid. They take the color of the text. */
const PATHS = {
  inbox: 'M4 13h4l1.5 3h5L16 13h4M5.5 5h13L20 13v6H4v-6z',
  knowledge: 'M5 4h10a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h10M9 8h5',
  overview: 'M4 20h16M7 16v-5M12 16V6M17 16v-8',
  phone: 'M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM11 18h2',
  question: 'M9 9.5a3 3 0 1 1 4.2 2.75c-.75.35-1.2 1-1.2 1.75M12 17.2v.1',
  support: 'M12 11.5a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM5.5 19a6.5 6.5 0 0 1 13 0',
  search: 'M11 17a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM15.5 15.5 20 20',
  close: 'M6 6l12 12M18 6L6 18',
  back: 'M15 5l-7 7 7 7',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  trash: 'M5 7h14M10 7V5h4v2M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
  send: 'M4 12l16-7-5 15-3.5-6.5z',
  terminal: 'M5 7l5 5-5 5M12.5 17H19',
  sliders: 'M5 8h8M17 8h2M5 16h2M11 16h8M15 6v4M9 14v4',
  command:
    'M9 9h6v6H9zM9 9V7a2 2 0 1 0-2 2zM15 9h2a2 2 0 1 0-2-2zM15 15v2a2 2 0 1 0 2-2zM9 15H7a2 2 0 1 0 2 2z',
  plus: 'M12 5v14M5 12h14',
  file: 'M7 4h7l4 4v12H7zM14 4v4h4M10 13h5M10 16h5',
  pencil: 'M5 19l1-4L16 5l3 3L9 18z',
  undo: 'M8 5L4 9l4 4M4 9h10a5 5 0 0 1 0 10h-3',
  sort: 'M8 5v14M5 16l3 3 3-3M16 19V5M13 8l3-3 3 3',
  clock: 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 8v4.5l3 1.5',
  alert: 'M12 4L3 20h18zM12 10v5M12 17.4v.1',
  note: 'M6 4h12v12l-4 4H6zM14 20v-4h4M9 9h6M9 12.5h4',
  bell: 'M5 17a7 7 0 0 1 14 0zM12 10V7.5M10 7.5h4M4 20h16',
  signOut: 'M13 5H6v14h7M10 12h10M17 9l3 3-3 3',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3M12 14.5v2',
  saved: 'M6 4h12v16l-6-4-6 4zM9.5 9h5',
  smile: 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM8.7 13.5a4 4 0 0 0 6.6 0M9.5 9.5v.1M14.5 9.5v.1',
  keyboard: 'M4 7h16v10H4zM7 10h.1M10.5 10h.1M14 10h.1M17 10h.1M8.5 14h7',
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  const mirrored = name === 'back' || name === 'send' || name === 'signOut' || name === 'undo';
  return (
    <svg
      aria-hidden="true"
      className={mirrored ? 'icon icon-mirrored' : 'icon'}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
