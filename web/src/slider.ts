// Sliders over given values of keys.

import { make } from "./dom.ts";

export interface SliderSpec {
  /** As for `--set` of the command line. */
  key: string;
  label: string;
  values: string[];
  /** Names of the values for the reader, if they do not speak for themselves. */
  names?: string[];
  /** The position at the beginning. */
  start: number;
}

/** A setting as the engine takes it: a key and its value. */
export type Setting = [key: string, value: string];

export class Slider {
  readonly spec: SliderSpec;
  readonly element = make("div", "", "slider");
  readonly #input = make("input");
  readonly #value = make("output");
  #written: string;

  /** `moved` is called for each position, also while the slider is dragged; `released` after it. */
  constructor(spec: SliderSpec, moved: () => void, released: () => void = () => {}) {
    this.spec = spec;
    this.#written = spec.values[spec.start]!;
    const label = make("label", spec.label);
    const id = `slider-${spec.key}`;
    Object.assign(this.#input, { type: "range", id, min: "0", max: String(spec.values.length - 1), step: "1" });
    this.#input.value = String(spec.start);
    label.htmlFor = id;
    this.#value.htmlFor.add(id);
    label.title = spec.key;
    this.#input.oninput = () => {
      this.#show();
      moved();
    };
    this.#input.onchange = released;
    this.element.append(label, this.#input, this.#value);
    this.#show();
  }

  get position(): number {
    return Number(this.#input.value);
  }

  set position(position: number) {
    this.#input.value = String(position);
    this.#show();
  }

  get value(): string {
    return this.spec.values[this.position]!;
  }

  /** True if it has another value than the text. */
  get isMoved(): boolean {
    return this.value !== this.#written;
  }

  /** Takes the value of the text, unless it has been moved meanwhile; returns false if it has no position for it. */
  holds(value: string): boolean {
    const position = this.spec.values.indexOf(value);
    if (position < 0) {
      return false;
    }
    const isMoved = this.isMoved;
    this.#written = value;
    if (!isMoved) {
      this.position = position;
    }
    return true;
  }

  /** Returns to the value of the text. */
  leave(): void {
    this.position = this.spec.values.indexOf(this.#written);
  }

  get setting(): Setting {
    return [this.spec.key, this.value];
  }

  #show() {
    const name = this.spec.names?.[this.position] ?? this.value;
    this.#value.textContent = name;
    this.#input.setAttribute("aria-valuetext", name);
  }
}
