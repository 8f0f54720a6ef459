// The problems and warnings of a check, with their locations, as the command line prints them.

import { button, make } from "./dom.ts";
import type { Checked, Problem } from "./protocol.ts";

/** Lists them; `select` is called with the location of one that is chosen. */
export function listProblems(
  list: HTMLElement,
  checked: Checked,
  select: (line: number, column: number) => void,
): void {
  const problems = checked.valid ? checked.warnings : checked.problems;
  list.replaceChildren(...problems.map((problem) => item(problem, checked.valid, select)));
  if (checked.more) {
    list.append(make("li", `and ${checked.more} more problems`));
  }
}

function item(problem: Problem, isWarning: boolean, select: (line: number, column: number) => void): HTMLElement {
  const { line, column, key, message, setting, suggestion, accepted } = problem;
  const item = make("li", "", isWarning ? "warning" : "problem");
  if (line) {
    const place = button(`line ${line}`, () => select(line, column ?? 1));
    place.className = "place";
    item.append(place, " ");
  }
  if (key) {
    item.append(make("code", key), " ");
  }
  item.append(message);
  item.append(setting ? ` (${setting})` : "", suggestion ? `; did you mean ${suggestion}?` : "");
  item.append(accepted ? `; accepted: ${accepted}` : "");
  return item;
}
