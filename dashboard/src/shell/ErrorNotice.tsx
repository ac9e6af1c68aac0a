/** An error that scrolls into view, because it may be below the screen. */
export const ErrorNotice = ({ text }: { text: string | undefined }) =>
  text !== undefined && (
    <p ref={scrollIntoView} className="notice" role="alert">
      {text}
    </p>
  );

const scrollIntoView = (element: HTMLElement | null) => element?.scrollIntoView({ block: 'center' });
