// The positions of a slider for any quantity: around its value, in equal factors.

/** Positions to each side, and the ratio of two of them: from a sixteenth to sixteen times the value. */
const SIDE = 16;
const RATIO = 2 ** 0.25;

export interface Steps {
  values: string[];
  start: number;
}

/** Returns a value as it is written without its quotation marks. */
export const unquoted = (written: string) => /^(["'])(.*)\1$/.exec(written)?.[2] ?? written;

/** Splits `"1.5 Mbit/s"`, quoted or not, into a number and the rest. */
function quantity(written: string): { number: number; unit: string } | null {
  const text = unquoted(written).trim();
  const found = /^([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(.*)$/.exec(text);
  return found && { number: Number(found[1]!.replaceAll("_", "")), unit: found[2]! };
}

/** Returns the positions for a value as it is written, or null if it is no positive quantity. */
export function stepsOf(written: string, kind: string): Steps | null {
  const found = quantity(written);
  if (!found || !(found.number > 0) || !Number.isFinite(found.number)) {
    return null;
  }
  const { number, unit } = found;
  const isWhole = kind === "integer" || (Number.isInteger(number) && /^(cells?|packets?|B|bytes?)$/.test(unit));
  const all = Array.from({ length: 2 * SIDE + 1 }, (_, position) => {
    const one = number * RATIO ** (position - SIDE);
    // The value itself is one of them.
    const rounded = position === SIDE ? number : Number(one.toPrecision(2));
    return isWhole ? Math.max(1, Math.round(rounded)) : rounded;
  });
  const numbers = [...new Set(all)];
  return { values: numbers.map((one) => `${one}${unit ? ` ${unit}` : ""}`), start: numbers.indexOf(number) };
}
