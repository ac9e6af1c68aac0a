/** A message of the customer in the timeline that another one quotes. */
export interface Quote {
  id: string;
  text: string;
}
