// The colours of flows, the same in all figures and in the animation of a page.

/** The number of colours, `--c0` and so on in the style. */
export const COLOURS = 8;

/** Returns the number of the colour of a flow, by its place among all flows of the run; -1 if it is none of them. */
export function colourOf(flows: readonly string[], flow: string): number {
  const place = flows.indexOf(flow);
  return place < 0 ? -1 : place % COLOURS;
}
