// The form of a scenario: a field for each key that the text has, by table.

import { make } from "./dom.ts";
import type { Key } from "./protocol.ts";
import { stepsOf, unquoted } from "./steps.ts";

export interface FormActions {
  /** A field has a new value, as it would be written after `--set KEY=`. */
  changed(path: string, value: string): void;
  /** Shows a key in the text. */
  located(line: number): void;
  /** A slider is wanted for a key, or no longer. */
  pinned(key: Key, wanted: boolean): void;
}

/** Makes the form anew, folded and scrolled as before. `pins` are the paths of the keys that have sliders. */
export function fillForm(host: HTMLElement, keys: Key[], pins: ReadonlySet<string>, actions: FormActions): void {
  const folded = new Set(
    [...host.querySelectorAll("details:not([open])")].map((one) => one.getAttribute("data-table")),
  );
  const top = host.scrollTop;
  const focused = host.contains(document.activeElement) ? document.activeElement?.id : undefined;
  const tables = new Map<string, Key[]>();
  for (const key of keys) {
    const table = tableOf(key.path);
    tables.set(table, [...(tables.get(table) ?? []), key]);
  }
  host.replaceChildren(
    ...[...tables].map(([table, inTable]) => {
      const details = make("details");
      details.dataset.table = table;
      details.open = !folded.has(table);
      details.append(make("summary", table || "Scenario"), ...inTable.map((key) => row(key, table, pins, actions)));
      return details;
    }),
  );
  host.scrollTop = top;
  if (focused) {
    document.getElementById(focused)?.focus();
  }
}

/** Returns the table of a key: `link.uplink` of `link.uplink.rate`, `run` of `run.seed`, none of `name`. */
function tableOf(path: string): string {
  const parts = path.split(".");
  return parts.slice(0, Math.min(2, parts.length - 1)).join(".");
}

function row(key: Key, table: string, pins: ReadonlySet<string>, actions: FormActions): HTMLElement {
  const row = make("div", "", "key");
  const short = table ? key.path.slice(table.length + 1) : key.path;
  const label = make("label", short);
  const id = `key-${key.path}`;
  label.htmlFor = id;
  label.title = key.about;
  const field = fieldOf(key);
  field.id = id;
  field.title = key.about;
  field.onchange = () =>
    actions.changed(key.path, field.type === "checkbox" ? String((field as HTMLInputElement).checked) : field.value);
  const place = make("button", `${key.line}`, "place");
  place.type = "button";
  place.title = "Show it in the text";
  place.setAttribute("aria-label", `Line ${key.line}: show ${key.path} in the text`);
  place.onclick = () => actions.located(key.line);
  row.append(label, field, place);
  if (stepsOf(key.value, key.kind)) {
    const pin = make("button", "slider", "pin");
    pin.type = "button";
    pin.setAttribute("aria-pressed", String(pins.has(key.path)));
    pin.setAttribute("aria-label", `Slider for ${key.path}`);
    pin.onclick = () => actions.pinned(key, pin.getAttribute("aria-pressed") !== "true");
    row.append(pin);
  }
  return row;
}

function fieldOf(key: Key): HTMLInputElement | HTMLSelectElement {
  const value = unquoted(key.value);
  if (key.kind === "boolean") {
    const field = make("input");
    field.type = "checkbox";
    field.checked = value === "true";
    return field;
  }
  if (key.words && key.words.includes(value)) {
    const field = make("select");
    field.append(...key.words.map((word) => make("option", word)));
    field.value = value;
    return field;
  }
  const field = make("input");
  field.type = "text";
  field.value = value;
  field.spellcheck = false;
  field.autocomplete = "off";
  return field;
}
