// Exercises that check themselves, by claims with a range as those of the studies.

import { button, make } from "./dom.ts";
import { number3, scaled } from "./figure.ts";
import type { Setting, Slider } from "./slider.ts";
import type { Tables } from "./tables.ts";

interface Claim {
  ask: string;
  /** The row of the summary. */
  subject: string;
  metric: string;
  unit: string;
  /** The range of its value, in the unit of the row. */
  least?: number;
  most?: number;
  /** The answer in words. */
  why: string;
}

export type ExerciseSpec = Claim &
  (
    | {
        /** The reader sets sliders until the value is in the range. */
        kind: "set";
        /** Keys that must have one of these values. */
        limits?: Record<string, string[]>;
        solution: Record<string, string>;
      }
    | {
        /** The reader predicts the value of a run with these keys. */
        kind: "number";
        setting: Record<string, string>;
        answer_unit: string;
        answer_factor: number;
        /** The accepted relative deviation from the simulated value. */
        within: number;
      }
  );

const EXPECTED = "your prediction, like 1234.5, in";

export class Exercise {
  readonly #verdict = make("p", "", "verdict");
  readonly #why = make("details");
  readonly #answer = make("input");
  readonly #sliders: Slider[];
  readonly #moved: () => void;
  /** The check that waits for a run. */
  #waiting: (() => void) | undefined;
  /** The last run of the page's figure; none while another one is in progress. */
  #last: { set: Setting[]; tables: Tables } | undefined;

  /** `moved` is called after sliders were set, `run` makes a run with other settings. */
  constructor(
    host: HTMLElement,
    index: number,
    spec: ExerciseSpec,
    sliders: Slider[],
    moved: () => void,
    run: (set: Setting[]) => Promise<Tables>,
  ) {
    this.#moved = moved;
    this.#sliders = sliders;
    const set = make("fieldset", "", "exercise");
    set.append(make("legend", `Exercise ${index + 1}`), make("p", spec.ask));
    this.#verdict.setAttribute("role", "status");
    this.#why.append(make("summary", "The answer"), make("p", spec.why));
    const row = make("p", "", "row");
    if (spec.kind === "number") {
      const label = make("label", "Your prediction ");
      // Not of the type number, which may read "48,5" as 485.
      Object.assign(this.#answer, { type: "text", inputMode: "decimal", autocomplete: "off", id: `answer-${index}` });
      label.append(this.#answer, ` ${spec.answer_unit}`);
      const check = button("Run and compare", () => void this.#compare(spec, run, check));
      // A handler that returns false would keep every other key from the field.
      this.#answer.onkeydown = (event) => {
        if (event.key === "Enter") {
          check.click();
        }
      };
      row.append(label, check);
    } else {
      row.append(button("Check what the figure shows", () => this.#check(spec)));
      this.#why.append(button("Set the sliders so", () => this.#solve(spec)));
    }
    set.append(row, this.#verdict, this.#why);
    host.append(set);
  }

  /** The sliders have moved, so the last run is no longer that of the page. */
  forget(): void {
    this.#last = undefined;
    if (this.#verdict.textContent !== "") {
      this.#verdict.textContent = "";
    }
  }

  /** The run has no tables: a check that waits for it says why. */
  failed(why: string): void {
    if (this.#waiting) {
      this.#waiting = undefined;
      this.#say(false, why);
    }
  }

  ran(set: Setting[], tables: Tables): void {
    this.#last = { set, tables };
    this.#waiting?.();
    this.#waiting = undefined;
  }

  #check(spec: ExerciseSpec & { kind: "set" }) {
    if (!this.#last) {
      this.#verdict.className = "verdict";
      this.#verdict.textContent = "The run goes on.";
      this.#waiting = () => this.#check(spec);
      return;
    }
    const value = valueOf(spec, this.#last.tables);
    if (value === undefined) {
      this.#say(false, "This run has no such value.");
      return;
    }
    // Both are said: a value that is out of the range is no less so with a slider at a position that does not count.
    const values = new Map(this.#last.set);
    const excluded = Object.entries(spec.limits ?? {})
      .filter(([key, accepted]) => !accepted.includes(values.get(key) ?? ""))
      .map(([key]) => ` This does not count with ${this.#named(key, values.get(key))}.`);
    this.#say(
      excluded.length === 0 && isWithin(spec, value),
      `${measured(spec, value)}, asked for: ${range(spec)}.${excluded.join("")}`,
    );
  }

  /** Returns a key and its value with the words of its slider. */
  #named(key: string, value = "its default"): string {
    const spec = this.#sliders.find((slider) => slider.spec.key === key)?.spec;
    return `${spec?.label ?? key} at ${spec?.names?.[spec.values.indexOf(value)] ?? value}`;
  }

  async #compare(
    spec: ExerciseSpec & { kind: "number" },
    run: (set: Setting[]) => Promise<Tables>,
    check: HTMLButtonElement,
  ) {
    const typed = this.#answer.value.trim();
    const predicted = Number(typed) * spec.answer_factor;
    if (typed === "" || !Number.isFinite(predicted)) {
      this.#say(false, `${typed ? "This is not a number" : "A number is missing"}: ${EXPECTED} ${spec.answer_unit}.`);
      return;
    }
    check.disabled = true;
    try {
      const value = valueOf(spec, await run(Object.entries(spec.setting)));
      if (value === undefined) {
        throw new Error("the run has no such value");
      }
      const isNear = Math.abs(predicted - value) <= spec.within * Math.abs(value);
      const words = `${number3(value / spec.answer_factor)} ${spec.answer_unit} simulated, ${number3(predicted / spec.answer_factor)} predicted`;
      this.#say(isNear, `${words}; ${number3(spec.within * 100)} % are accepted.`);
    } catch (error) {
      this.#say(false, `The run has failed: ${(error as Error).message}.`);
    }
    check.disabled = false;
  }

  #solve(spec: ExerciseSpec & { kind: "set" }) {
    for (const slider of this.#sliders) {
      const position = slider.spec.values.indexOf(spec.solution[slider.spec.key] ?? "");
      slider.position = position < 0 ? slider.spec.start : position;
    }
    this.#moved();
  }

  #say(isRight: boolean, words: string) {
    this.#verdict.className = `verdict ${isRight ? "right" : "wrong"}`;
    this.#verdict.textContent = `${isRight ? "Right. " : "Not yet. "}${words}`;
    if (isRight) {
      this.#why.open = true;
    }
  }
}

const valueOf = ({ subject, metric }: Claim, tables: Tables) =>
  tables.summary.find((row) => row.subject === subject && row.metric === metric)?.value;

const isWithin = ({ least = -Infinity, most = Infinity }: Claim, value: number) => least <= value && value <= most;

const measured = ({ subject, metric, unit }: Claim, value: number) =>
  `${metric} of ${subject} is ${quantity(value, unit)}`;

/** Returns a value in the unit in which it is short, as the figures have it. */
function quantity(value: number, unit: string): string {
  const short = scaled(unit, value);
  return `${number3(value / short.factor)} ${short.unit}`.trim();
}

function range({ least, most, unit }: Claim): string {
  if (least === undefined) {
    return `at most ${quantity(most ?? 0, unit)}`;
  }
  if (most === undefined) {
    return `at least ${quantity(least, unit)}`;
  }
  const short = scaled(unit, most);
  return `${number3(least / short.factor)} to ${quantity(most, unit)}`;
}
