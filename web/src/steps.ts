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

/** Splits `"1.5 Mbit/s"`, quoted or not, into a number and its unit; null for what is no quantity, such as `"1/64"`. */
function quantity(written: string): { number: number; unit: string } | null {
  const text = unquoted(written).trim();
  const found = /^([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([\p{L}%][\p{L}/%]*)?$/u.exec(text);
  return found && { number: Number(found[1]!.replaceAll("_", "")), unit: found[2] ?? "" };
}

/** Units of which only whole numbers exist, and the next smaller one of units that hold so many of it. */
const WHOLE = /^(cells?|packets?|B|bytes?)$/;
const SMALLER = new Map([
  ["KiB", "B"],
  ["MiB", "KiB"],
  ["GiB", "MiB"],
]);

/** Returns the positions for a value as it is written, or null if it is no positive quantity. */
export function stepsOf(written: string, kind: string): Steps | null {
  const found = quantity(written);
  if (!found || !(found.number > 0) || !Number.isFinite(found.number)) {
    return null;
  }
  const { number, unit } = found;
  const all = Array.from({ length: 2 * SIDE + 1 }, (_, position) =>
    // The value itself is one of them, as it is written.
    position === SIDE ? unquoted(written) : text(number * RATIO ** (position - SIDE), unit, kind),
  );
  const values = [...new Set(all)];
  return { values, start: values.indexOf(unquoted(written)) };
}

/** Returns a value in two digits that its key accepts: a whole number of what cannot be divided. */
function text(value: number, unit: string, kind: string): string {
  const rounded = Number(value.toPrecision(2));
  const smaller = SMALLER.get(unit);
  if (smaller && !Number.isInteger(rounded)) {
    return text(1024 * value, smaller, kind);
  }
  const isWhole = kind === "integer" || WHOLE.test(unit);
  const shown = isWhole ? Math.max(1, Math.round(rounded)) : rounded;
  return unit ? `${shown} ${unit}` : String(shown);
}
