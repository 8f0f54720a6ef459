// A figure of series over time: one chart with a legend, in the colours of the page. It can be zoomed along the time.

import uPlot from "uplot";

import { colourOf } from "./colours.ts";
import type { Series, Tables } from "./tables.ts";

/** The choice of series of a figure. */
export interface FigureSpec {
  title: string;
  /** The first of these metrics that has been recorded is drawn. */
  metrics: string[];
  /** Patterns with `*` for the subjects; all if they are missing. */
  subjects?: string[];
  /** Horizontal lines, in the unit of the metric. */
  lines?: { label: string; value: number }[];
}

/** The most lines of a figure. */
const LINES = 8;
const HEIGHT = 210;
/** Metrics whose values hold from their time on; others are means over the time before it. */
const CHANGES = new Set(["queue", "window"]);

const matches = (pattern: string, text: string) =>
  new RegExp(
    `^${pattern
      .split("*")
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
      .join(".*")}$`,
  ).test(text);

/** Returns a number with three digits, without an exponent where it is short. */
export const number3 = (value: number) => (value === 0 ? "0" : Number(value.toPrecision(3)).toString());

/** Returns the factor and the unit in which values up to `most` are short. */
export function scaled(unit: string, most: number): { factor: number; unit: string } {
  const prefixes: [number, string][] = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  const [factor, prefix] = prefixes.find(([least]) => most >= least) ?? [1, ""];
  if (unit === "bit/s" || unit === "B") {
    return { factor, unit: prefix + unit };
  }
  return unit === "s" && most > 0 && most < 1
    ? { factor: 1e-3, unit: "ms" }
    : { factor: 1, unit: unit === "1" ? "" : unit };
}

/** Returns the series that a figure draws, and the number of those that it has no place for. */
export function chosen(spec: FigureSpec, tables: Tables): { series: Series[]; more: number } {
  const wanted = (subject: string) => spec.subjects?.some((pattern) => matches(pattern, subject)) ?? true;
  for (const metric of spec.metrics) {
    const all = tables.series.filter(
      (series) => series.metric === metric && series.t.length > 0 && wanted(series.subject),
    );
    // A line that is zero throughout says nothing, unless it is asked for by name.
    const some = spec.subjects ? all : all.filter((series) => series.value.some((value) => value > 0));
    if (some.length > 0) {
      return { series: some.slice(0, LINES), more: Math.max(0, some.length - LINES) };
    }
  }
  return { series: [], more: 0 };
}

/** Of the rows in one of `columns` equal parts of a range of time: the first, the lowest, the highest and the last one. */
export function thinned({ t, value }: Series, [from, to]: [number, number], columns: number): [number[], number[]] {
  const [times, values]: [number[], number[]] = [[], []];
  // One row on each side of the range, so that the line goes on to its edge.
  let row = Math.max(0, firstAfter(t, from) - 1);
  const end = Math.min(t.length, firstAfter(t, to) + 1);
  while (row < end) {
    const column = Math.floor(((t[row]! - from) / (to - from)) * columns);
    let [low, high, last] = [row, row, row];
    while (last + 1 < end && Math.floor(((t[last + 1]! - from) / (to - from)) * columns) === column) {
      last += 1;
      low = value[last]! < value[low]! ? last : low;
      high = value[last]! > value[high]! ? last : high;
    }
    for (const kept of [...new Set([row, low, high, last])].sort((a, b) => a - b)) {
      times.push(t[kept]!);
      values.push(value[kept]!);
    }
    row = last + 1;
  }
  return [times, values];
}

/** Continues a series of changes, the last of which holds, until `end`. */
function held({ metric }: Series, [t, value]: [number[], number[]], end: number): [number[], number[]] {
  const last = t.at(-1);
  const goesOn = CHANGES.has(metric) && last !== undefined && last < end;
  return goesOn
    ? [
        [...t, end],
        [...value, value.at(-1)!],
      ]
    : [t, value];
}

/** Begins a series of means where the time of its first one begins, if that is the start of the run. */
function begun({ metric, t: times }: Series, [t, value]: [number[], number[]]): [number[], number[]] {
  const interval = times.length > 1 ? times[1]! - times[0]! : Infinity;
  const from = (times[0] ?? 0) - interval;
  const isFirst = !CHANGES.has(metric) && t[0] === times[0] && Math.abs(from) < interval / 1000;
  return isFirst
    ? [
        [0, ...t],
        [value[0]!, ...value],
      ]
    : [t, value];
}

/** Returns the first row whose time is after `time`. */
function firstAfter(t: Float64Array, time: number): number {
  let [low, high] = [0, t.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = t[middle]! > time ? [low, middle] : [middle + 1, high];
  }
  return low;
}

/** Returns the number of the colour of each series: flows have the same one in all figures of a run. */
function colours(series: Series[], tables: Tables): number[] {
  const flows = tables.series.filter((one) => one.metric === "goodput").map((one) => one.subject);
  const own = series.map((one) => colourOf(flows, one.subject));
  const isClear = !own.includes(-1) && new Set(own).size === own.length;
  return isClear ? own : series.map((_, index) => index);
}

export class Figure {
  readonly #spec: FigureSpec;
  readonly #figure = document.createElement("div");
  readonly #title = document.createElement("h3");
  readonly #place = document.createElement("div");
  readonly #note = document.createElement("p");
  readonly #out = document.createElement("button");
  #plot: uPlot | undefined;
  /** The lines, the width and the colours that the chart was made for. */
  #made = "";
  #tables: Tables | undefined;
  readonly #zoomed: (range: [number, number] | undefined) => void;
  /** The time that is shown (s), if it is zoomed. */
  #range: [number, number] | undefined;

  /** `zoomed` is called when the reader wants to see another time; it calls `zoom`. */
  constructor(host: HTMLElement, spec: FigureSpec, zoomed: (range: [number, number] | undefined) => void) {
    this.#spec = spec;
    this.#zoomed = zoomed;
    this.#figure.className = "figure";
    this.#title.textContent = spec.title;
    this.#place.className = "plot";
    this.#place.setAttribute("role", "img");
    this.#note.className = "note";
    this.#out.type = "button";
    this.#out.className = "zoom-out";
    this.#out.textContent = "Whole time";
    this.#out.hidden = true;
    this.#out.onclick = () => this.#zoomed(undefined);
    const head = document.createElement("div");
    head.className = "figure-head";
    head.append(this.#title, this.#out);
    this.#figure.append(head, this.#place, this.#note);
    host.append(this.#figure);
    new ResizeObserver(() => this.#redraw()).observe(this.#figure);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#redraw());
  }

  /** Draws the series of a run, which may not have ended. */
  draw(tables: Tables, lines = this.#spec.lines): void {
    if (this.#tables && this.#tables.duration_s !== tables.duration_s) {
      this.#range = undefined;
      this.#out.hidden = true;
    }
    this.#tables = tables;
    this.#spec.lines = lines;
    this.#redraw();
  }

  /** Shows a part of the time, or all of it. */
  zoom(range: [number, number] | undefined): void {
    this.#range = range;
    this.#out.hidden = range === undefined;
    this.#redraw();
  }

  #redraw() {
    const width = this.#figure.clientWidth - 2;
    if (!this.#tables || width < 50) {
      return;
    }
    const { series, more } = chosen(this.#spec, this.#tables);
    if (series.length === 0 && this.#tables.counts.simulated_s < this.#tables.duration_s) {
      // The first of its rows is still to come: the figure stays as it is, so that nothing below it moves.
      return;
    }
    const units = [...new Set(series.map((one) => one.unit))];
    const lines = this.#spec.lines ?? [];
    const highest = (values: ArrayLike<number>) =>
      Array.prototype.reduce.call(values, (a, b) => Math.max(a as number, b), 0) as number;
    const most = Math.max(0, ...series.map((one) => highest(one.value)), ...lines.map((line) => line.value));
    // Cells and packets may share an axis; the legend says which is which.
    const { factor, unit } = scaled(units.length === 1 ? units[0]! : "", most);
    this.#title.textContent = this.#spec.title + (unit ? `, ${unit}` : "");
    const names = series.map((one) => (units.length > 1 ? `${one.subject} (${one.unit})` : one.subject));
    this.#place.setAttribute("aria-label", `${this.#spec.title} over time: ${names.join(", ") || "nothing recorded"}`);
    this.#note.textContent =
      series.length === 0 ? "Nothing recorded." : more > 0 ? `${more} more lines are not drawn.` : "";
    this.#place.hidden = series.length === 0;
    if (series.length === 0) {
      this.#plot?.destroy();
      this.#plot = undefined;
      return;
    }
    const range: [number, number] = this.#range ?? [0, this.#tables.duration_s];
    const now = this.#tables.counts.simulated_s;
    const columns = series.map((one) => held(one, begun(one, thinned(one, range, 2 * width)), Math.min(now, range[1])));
    const joined = uPlot.join([
      ...columns.map(([t, value]) => [t, value.map((one) => one / factor)] as uPlot.AlignedData),
      ...lines.map((line) => [range, range.map(() => line.value / factor)] as uPlot.AlignedData),
    ]);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const numbers = colours(series, this.#tables);
    const made = JSON.stringify([names, numbers, lines.map((line) => line.label), width, dark, factor, unit]);
    if (made !== this.#made || !this.#plot) {
      this.#plot?.destroy();
      const drawn = series.map((one, index) => ({
        label: names[index]!,
        colour: `--c${numbers[index]}`,
        isChange: CHANGES.has(one.metric),
      }));
      const zoom = (from: number, to: number) => this.#zoomed([from, to]);
      this.#plot = new uPlot(options(drawn, lines, width, unit, zoom), joined, this.#place);
      this.#made = made;
    } else {
      this.#plot.setData(joined, false);
    }
    const top = (most / factor) * 1.05 || 1;
    this.#plot.batch(() => {
      this.#plot!.setScale("x", { min: range[0], max: range[1] });
      this.#plot!.setScale("y", { min: 0, max: top });
    });
  }
}

/** Makes the figures of a page, which show the same time. */
export function figuresOf(host: HTMLElement, specs: FigureSpec[]): Figure[] {
  const all: Figure[] = [];
  const zoomed = (range: [number, number] | undefined) => all.forEach((figure) => figure.zoom(range));
  all.push(...specs.map((spec) => new Figure(host, spec, zoomed)));
  return all;
}

function options(
  drawn: { label: string; colour: string; isChange: boolean }[],
  lines: { label: string }[],
  width: number,
  unit: string,
  zoom: (from: number, to: number) => void,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: colour("--soft"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  const value = (_: uPlot, one: number | null) => (one === null ? "" : `${number3(one)} ${unit}`.trim());
  return {
    width,
    height: HEIGHT,
    padding: [8, 28, 0, 0],
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    scales: { x: { time: false }, y: { range: (_, low, high) => [low, high] } },
    axes: [
      { ...axis, size: 34, values: (_, splits) => splits.map((t) => `${Number(t.toPrecision(6))} s`) },
      { ...axis, size: 58, values: (_, splits) => splits.map((one) => String(Number(one.toPrecision(6)))) },
    ],
    series: [
      { label: "Time", value: (_, t) => (t === null ? "" : `${Number(t.toPrecision(5))} s`) },
      ...drawn.map(({ label, colour: name, isChange }) => ({
        label,
        value,
        stroke: colour(name),
        width: 1.5,
        points: { show: false },
        spanGaps: true,
        // A change holds from its time on; a mean is that of the time before it.
        paths: uPlot.paths.stepped!({ align: isChange ? 1 : -1 }),
      })),
      ...lines.map(({ label }) => ({
        label,
        value,
        stroke: colour("--soft"),
        dash: [6, 4],
        width: 1.5,
        spanGaps: true,
        points: { show: false },
      })),
    ],
    legend: { live: true },
    hooks: {
      setSelect: [
        (plot) => {
          const [from, to] = [
            plot.posToVal(plot.select.left, "x"),
            plot.posToVal(plot.select.left + plot.select.width, "x"),
          ];
          if (plot.select.width > 3 && to > from) {
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            zoom(from, to);
          }
        },
      ],
    },
  };
}
