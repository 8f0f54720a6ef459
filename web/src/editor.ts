// A scenario as text, form and sliders, and its check. Whatever changes it, the others follow.

import { at, make } from "./dom.ts";
import { Form } from "./form.ts";
import { listProblems } from "./problems.ts";
import type { Checked, Described, Key } from "./protocol.ts";
import type { Simulator } from "./simulator.ts";
import { Slider, type Setting } from "./slider.ts";
import { stepsOf, unquoted } from "./steps.ts";

/** The time after the last key stroke before a text is checked (ms). */
const TYPING = 200;
/** The keys that have sliders at first, if a scenario has them; at most so many. */
const USUAL = [
  /^link\..*\.rate$/,
  /^link\..*\.delay$/,
  /^buffer\.size$/,
  /^link\..*\.buffer\.size$/,
  /\.window$/,
  /\.count$/,
];
const SLIDERS = 4;

export interface EditorActions {
  /** The text has been edited by hand, so it is no longer the one that was loaded. */
  edited(): void;
  /** The text has been checked. */
  checked(checked: Checked): void;
  /** A scenario that can be run has changed, or a slider moves. */
  changed(): void;
  /** Something could not be done. */
  failed(why: string): void;
}

export class Editor {
  readonly #simulator: Simulator;
  readonly #actions: EditorActions;
  readonly #text = at<HTMLTextAreaElement>("text");
  readonly #form: Form;
  #sliders: Slider[] = [];
  /** The scenario for which sliders were chosen. */
  #slidersOf = "";
  #checked: Checked | undefined;
  #typing: ReturnType<typeof setTimeout> | undefined;
  /** True if the text has changed since the check in progress began. */
  #isStale = false;
  #checking: Promise<void> | undefined;
  /** The last of the writes, which are made one after another. */
  #writes: Promise<void> = Promise.resolve();

  constructor(simulator: Simulator, actions: EditorActions) {
    this.#simulator = simulator;
    this.#actions = actions;
    this.#form = new Form(at("form"), {
      changed: (setting) => this.#write([setting]),
      located: (line) => this.#select(line, 1),
      pinned: (key, wanted) => this.#pin(key, wanted),
    });
    this.#text.addEventListener("input", () => {
      actions.edited();
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => void this.check().then(() => this.#run()), TYPING);
    });
  }

  get text(): string {
    return this.#text.value;
  }

  /** The description of the scenario, if it can be run. */
  get described(): Described | undefined {
    return this.#checked?.valid ? this.#checked : undefined;
  }

  /** The sliders that have other values than the text. */
  get settings(): Setting[] {
    return this.#sliders.filter((slider) => slider.isMoved).map((slider) => slider.setting);
  }

  load(text: string): void {
    clearTimeout(this.#typing);
    this.#text.value = text;
    this.#sliders = [];
    this.#slidersOf = "";
    this.#placeSliders();
  }

  /** Checks the text as it is now: one check at a time, and of the newest text only. */
  check(): Promise<void> {
    this.#isStale = true;
    this.#checking ??= this.#checkUntilFresh().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  /** The check in progress, if there is one, will be made again. */
  stopped(): void {
    this.#isStale = this.#checking !== undefined;
  }

  /** Lists the problems of a run that was refused, or those of the last check. */
  list(checked: Checked | undefined = this.#checked): void {
    if (checked) {
      listProblems(at("problems"), checked, (line, column) => this.#select(line, column));
    }
  }

  async #checkUntilFresh() {
    while (this.#isStale) {
      this.#isStale = false;
      const text = this.#text.value;
      const [checked, keys] = await Promise.all([this.#simulator.check({ text }), this.#simulator.keys({ text })]);
      if (!this.#isStale) {
        this.#checked = checked;
        this.list();
        this.#actions.checked(checked);
        this.#chooseSliders(checked.valid ? checked.name : this.#slidersOf, keys);
        this.#form.show(keys, new Set(this.#sliders.map((slider) => slider.spec.key)));
      }
    }
  }

  #run() {
    if (this.#checked?.valid) {
      this.#actions.changed();
    }
  }

  /** Selects a line of the text from a column, both from 1; columns count characters. */
  #select(line: number, column: number) {
    const lines = this.#text.value.split("\n");
    const of = lines[line - 1] ?? "";
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    const before = [...of].slice(0, column - 1).join("").length;
    this.#text.focus();
    this.#text.setSelectionRange(start + before, start + of.length);
    const height = this.#text.scrollHeight / lines.length;
    this.#text.scrollTop = Math.max(0, (line - 5) * height);
  }

  // Sliders

  #placeSliders() {
    const focused = document.activeElement?.id;
    at("sliders").replaceChildren(...this.#sliders.map((slider) => slider.element));
    if (focused?.startsWith("slider-")) {
      document.getElementById(focused)?.focus();
    }
  }

  /** Takes the values of the text. A slider stays as it is if it has a position for its value. */
  #chooseSliders(name: string, keys: Key[]) {
    const may = keys.filter((key) => !key.swept);
    const before = new Map(this.#sliders.map((slider) => [slider.spec.key, slider]));
    const kept = () => this.#sliders.flatMap((slider) => may.filter((key) => key.path === slider.spec.key));
    const usual = () =>
      USUAL.flatMap((pattern) => may.filter((key) => pattern.test(key.path) && stepsOf(key.value, key.kind)));
    const wanted = this.#slidersOf === name ? kept() : [...new Set(usual())].slice(0, SLIDERS);
    this.#slidersOf = name;
    const sliders = wanted.flatMap((key) => {
      const slider = before.get(key.path);
      return slider?.holds(unquoted(key.value)) ? [slider] : this.#sliderFor(key);
    });
    const isSame =
      sliders.length === this.#sliders.length && sliders.every((one, index) => one === this.#sliders[index]);
    this.#sliders = sliders;
    if (!isSame) {
      this.#placeSliders();
    }
  }

  #sliderFor(key: Key): Slider[] {
    const steps = stepsOf(key.value, key.kind);
    const [moved, released] = [() => this.#actions.changed(), () => this.#write([])];
    return steps ? [new Slider({ key: key.path, label: key.path, ...steps }, moved, released)] : [];
  }

  #pin(key: Key, wanted: boolean) {
    const others = this.#sliders.filter((slider) => slider.spec.key !== key.path);
    this.#sliders = wanted ? [...others, ...this.#sliderFor(key)] : others;
    this.#placeSliders();
    void this.check();
  }

  /** Writes the positions of the sliders and other settings into the text, after all earlier writes. */
  #write(settings: Setting[]) {
    this.#writes = this.#writes.then(() => this.#writeNow(settings));
  }

  async #writeNow(settings: Setting[]) {
    const own = new Set(settings.map(([key]) => key));
    this.#sliders.filter((slider) => own.has(slider.spec.key)).forEach((slider) => slider.leave());
    const set = [...this.settings, ...settings];
    if (set.length === 0) {
      return;
    }
    try {
      for (let text: string | undefined; text !== this.#text.value;) {
        // The text may be edited meanwhile: then the settings go into the newer one.
        text = this.#text.value;
        const written = await this.#simulator.write({ text, set });
        if (text === this.#text.value) {
          this.#text.value = text = written;
        }
      }
    } catch (error) {
      this.#actions.failed(`This cannot be written: ${(error as Error).message}`);
    }
    await this.check();
    if (settings.length > 0) {
      this.#actions.edited();
      this.#run();
    }
  }
}

/** Returns the name of a point of a sweep, whose first axis varies slowest. */
function pointName(axes: Described["axes"], point: number): string {
  const names: string[] = [];
  for (const { name, values } of [...axes].reverse()) {
    names.unshift(`${name} = ${values[point % values.length]}`);
    point = Math.floor(point / values.length);
  }
  return names.join(", ");
}

/** Returns the options of all points of a sweep. */
export const pointOptions = ({ axes, points }: Described): HTMLOptionElement[] =>
  Array.from({ length: points }, (_, point) => {
    const option = make("option", pointName(axes, point));
    option.value = String(point);
    return option;
  });
