/** An error that scrolls into view: the button that caused it may be far below. */
export const ErrorNotice = ({ text }: { text: string | undefined }) =>
  text !== undefined && (
    <p ref={scrollIntoView} className="notice" role="alert">
      {text}
    </p>
  );

const scrollIntoView = (element: HTMLElement | null) => element?.scrollIntoView({ block: 'center' });
