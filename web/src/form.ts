// The form of a scenario: a field for each key that the text has, by table.

import { button, make } from "./dom.ts";
import type { Key } from "./protocol.ts";
import type { Setting } from "./slider.ts";
import { stepsOf, unquoted } from "./steps.ts";

export interface FormActions {
  /** A field has a new value. */
  changed(setting: Setting): void;
  /** Shows a line in the text. */
  located(line: number): void;
  /** A slider is wanted for a key, or no longer. */
  pinned(key: Key, wanted: boolean): void;
}

/** The most fields. */
const FIELDS = 500;

/** A field that stays while its key does, so that focus, selection and a click under way are kept. */
class Row {
  readonly element = make("div", "", "key");
  readonly #field: HTMLInputElement | HTMLSelectElement;
  readonly #place: HTMLButtonElement;
  readonly #pin: HTMLButtonElement | undefined;
  #key: Key;

  constructor(key: Key, table: string, actions: FormActions) {
    this.#key = key;
    const label = make("label", table ? key.path.slice(table.length + 1) : key.path);
    this.#field = fieldOf(key);
    this.#field.id = `key-${key.path}`;
    this.#field.title = key.about;
    label.htmlFor = this.#field.id;
    label.title = key.about;
    this.#field.onchange = () => actions.changed([this.#key.path, this.#written()]);
    this.#place = button("", () => actions.located(this.#key.line));
    this.#place.className = "place";
    this.#place.id = `${this.#field.id} line`;
    this.#place.title = "Show it in the text";
    this.element.append(label, this.#field, this.#place);
    if (hasSlider(key)) {
      const pin = button("slider", () => actions.pinned(this.#key, pin.getAttribute("aria-pressed") !== "true"));
      pin.className = "pin";
      pin.id = `${this.#field.id} slider`;
      pin.setAttribute("aria-label", `Slider for ${key.path}`);
      this.#pin = pin;
      this.element.append(pin);
    }
  }

  show(key: Key, isPinned: boolean): void {
    this.#key = key;
    const value = unquoted(key.value);
    if (this.#field.type === "checkbox") {
      (this.#field as HTMLInputElement).checked = value === "true";
    } else if (this.#field !== document.activeElement) {
      this.#field.value = value;
    }
    this.#place.textContent = String(key.line);
    this.#place.setAttribute("aria-label", `Line ${key.line}: show ${key.path} in the text`);
    this.#pin?.setAttribute("aria-pressed", String(isPinned));
  }

  /** Returns the value as TOML: a text stays one, whatever it looks like. */
  #written(): string {
    if (this.#field.type === "checkbox") {
      return String((this.#field as HTMLInputElement).checked);
    }
    const { value } = this.#field;
    return unquoted(this.#key.value) === this.#key.value ? value : JSON.stringify(value);
  }
}

export class Form {
  readonly #host: HTMLElement;
  readonly #actions: FormActions;
  #rows = new Map<string, Row>();
  /** The keys and kinds of fields for which the rows were made. */
  #made = "";

  constructor(host: HTMLElement, actions: FormActions) {
    this.#host = host;
    this.#actions = actions;
  }

  /** Shows the keys of a text; `pins` are the paths of those that have sliders. */
  show(all: Key[], pins: ReadonlySet<string>): void {
    const keys = all.slice(0, FIELDS);
    const made = JSON.stringify(keys.map((key) => [key.path, key.kind, choosable(key), hasSlider(key)]));
    if (made !== this.#made) {
      this.#made = made;
      this.#make(keys, all.length - keys.length);
    }
    keys.forEach((key) => this.#rows.get(key.path)!.show(key, pins.has(key.path)));
  }

  /** Makes the rows anew, folded and scrolled as before. */
  #make(keys: Key[], more: number) {
    const folded = [...this.#host.querySelectorAll<HTMLElement>("details:not([open])")].map((one) => one.dataset.table);
    const [top, focused] = [this.#host.scrollTop, document.activeElement?.id];
    const tables = new Map<string, HTMLElement>();
    this.#rows = new Map();
    for (const key of keys) {
      const table = tableOf(key.path);
      let details = tables.get(table);
      if (!details) {
        details = make("details");
        details.dataset.table = table;
        (details as HTMLDetailsElement).open = !folded.includes(table);
        details.append(make("summary", table || "Scenario"));
        tables.set(table, details);
      }
      const row = new Row(key, table, this.#actions);
      this.#rows.set(key.path, row);
      details.append(row.element);
    }
    this.#host.replaceChildren(...tables.values());
    if (more > 0) {
      this.#host.append(make("p", `${more} more keys are in the text.`, "note"));
    }
    this.#host.scrollTop = top;
    if (focused?.startsWith("key-")) {
      document.getElementById(focused)?.focus();
    }
  }
}

const hasSlider = (key: Key) => !key.swept && stepsOf(key.value, key.kind) !== null;

/** Returns the values to choose from, if that of the text is one of them. */
const choosable = (key: Key) => (key.values?.includes(unquoted(key.value)) ? key.values : null);

/** Returns the table of a key: `link.uplink` of `link.uplink.rate`, `run` of `run.seed`, none of `name`. */
function tableOf(path: string): string {
  const parts = path.split(".");
  return parts.slice(0, Math.min(2, parts.length - 1)).join(".");
}

function fieldOf(key: Key): HTMLInputElement | HTMLSelectElement {
  const values = choosable(key);
  if (key.kind !== "boolean" && values) {
    const field = make("select");
    field.append(...values.map((value) => make("option", value)));
    return field;
  }
  const field = make("input");
  field.type = key.kind === "boolean" ? "checkbox" : "text";
  field.spellcheck = false;
  field.autocomplete = "off";
  return field;
}
