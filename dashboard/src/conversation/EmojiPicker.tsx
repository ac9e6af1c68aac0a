import { type KeyboardEvent, useEffect, useRef } from 'react';
import { useTranslation } from '../i18n/translation.tsx';

/** The ones that shops use most. */
const EMOJI = [
  ...'😀 😊 🙂 😉 😍 🥰 😂 😅 🤔 😮 😢 😔 😎 🤗 🙏 👍'.split(' '),
  ...'👋 👏 🙌 💪 👌 🤝 ❤️ 💛 💚 💙 🎉 ✨ ⭐ 🔥 💡 ✅'.split(' '),
  ...'❌ ⚠️ ❓ ❗ ⏰ ⏳ 📅 📍 📞 📧 📦 🚚 🛒 🛍️ 🎁 💳'.split(' '),
  ...'💶 🏷️ 🧾 🔧 🔑 🏠 🕙 ☀️ 🌧️ ❄️ ☕ 🍰 🍞 🍕 🌱 🌸'.split(' '),
];
const COLUMNS = 8;

/** One stop for the Tab key; the arrow keys move within it. */
export default function EmojiPicker({ onChoose }: { onChoose: (emoji: string) => void }) {
  const { t, direction } = useTranslation();
  const grid = useRef<HTMLFieldSetElement>(null);
  // It is loaded after the popover has looked for what to focus.
  useEffect(() => grid.current?.querySelector('button')?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(grid.current?.querySelectorAll('button') ?? [])];
    const index = buttons.indexOf(event.target as HTMLButtonElement);
    const forward = direction === 'rtl' ? -1 : 1;
    const step = {
      ArrowRight: forward,
      ArrowLeft: -forward,
      ArrowDown: COLUMNS,
      ArrowUp: -COLUMNS,
      Home: -index,
      End: EMOJI.length - 1 - index,
    }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = buttons[index + step];
    if (!next) return;
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
  };
  return (
    <fieldset ref={grid} className="emoji-grid" aria-label={t('emoji')} onKeyDown={onKeyDown}>
      {EMOJI.map((emoji, index) => (
        <button key={emoji} type="button" tabIndex={index === 0 ? 0 : -1} onClick={() => onChoose(emoji)}>
          {emoji}
        </button>
      ))}
    </fieldset>
  );
}
