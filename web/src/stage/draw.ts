// Draws the stage: nodes, links, and the cells and packets in them.

import { colourOf, COLOURS } from "../colours.ts";
import type { Scene, Units, View } from "../view.ts";
import { RADIUS, type Lane, type Layout, type Place, type Point } from "./layout.ts";

/** The longest stack of a queue (CSS pixels), and the units of a stack that long, if there are no more. */
const STACK = 62;
const USUAL = 30;
/** The longest stack at a host, whose queue holds what its application has written. */
const SHORT = 14;

export interface Colours {
  ink: string;
  soft: string;
  line: string;
  panel: string;
  flows: string[];
}

export function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: of("--ink"),
    soft: of("--soft"),
    line: of("--line"),
    panel: of("--panel"),
    flows: Array.from({ length: COLOURS }, (_, index) => of(`--c${index}`)),
  };
}

export class Drawing {
  readonly #to: CanvasRenderingContext2D;
  readonly #scene: Scene;
  readonly #layout: Layout;
  readonly #colours: Colours;
  readonly #numbers: number[];

  constructor(canvas: HTMLCanvasElement, scene: Scene, layout: Layout) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = layout.width * ratio;
    canvas.height = layout.height * ratio;
    canvas.style.height = `${layout.height}px`;
    this.#to = canvas.getContext("2d")!;
    this.#to.scale(ratio, ratio);
    this.#scene = scene;
    this.#layout = layout;
    this.#colours = colours();
    const names = scene.flows.map((flow) => flow.name);
    this.#numbers = names.map((name) => colourOf(names, name));
  }

  /** Draws a state; `chosen` is the port or flow that the reader looks at. */
  draw(view: View | undefined, chosen: { port?: number; flow?: number }): void {
    const { width, height, lanes, places } = this.#layout;
    this.#to.clearRect(0, 0, width, height);
    for (const lane of lanes) {
      if (lane) {
        this.#stroke(lane.from, lane.to, this.#colours.line, 1);
      }
    }
    for (const lane of lanes) {
      if (lane && view) {
        this.#lane(lane, view, chosen);
      }
    }
    places.forEach((place) => this.#node(place));
  }

  #lane(lane: Lane, view: View, chosen: { port?: number; flow?: number }) {
    const { waiting, more, line, flight } = view.ports[lane.port]!;
    const isCells = this.#scene.ports[lane.port]!.cells;
    const length = Math.hypot(lane.to.x - lane.from.x, lane.to.y - lane.from.y);
    // Half of the shortest units would not be seen.
    const least = (isCells ? 2 : 5) / length;
    for (const units of flight) {
      const [tail, head] = [Math.max(0, Math.min(units.tail, units.head - least)), Math.max(units.head, least)];
      this.#unit(lane, units, tail, Math.min(1, head), chosen.flow);
    }
    if (line) {
      // The unit that is sent grows out of the port.
      this.#unit(lane, line, 0, (isCells ? 4 : 9) * line.part * (1 / length), chosen.flow);
    }
    this.#queue(lane, waiting, more, chosen);
  }

  #unit(lane: Lane, { flow, kind }: Units, from: number, to: number, chosen?: number) {
    const [a, b] = [along(lane, from), along(lane, to)];
    const width = kind === "data" ? 5 : kind === "rm" ? 3 : 2.5;
    this.#stroke(a, b, kind === "rm" ? this.#colours.ink : this.#colour(flow), flow === chosen ? width + 3 : width);
  }

  /** Draws those that wait as a stack away from the lane, the next one at the lane. */
  #queue(lane: Lane, waiting: Units[], more: number, chosen: { port?: number; flow?: number }) {
    const listed = waiting.reduce((sum, { units }) => sum + units, 0);
    const total = listed + more;
    const at = along(lane, Math.min(0.12, 14 / Math.hypot(lane.to.x - lane.from.x, lane.to.y - lane.from.y)));
    const isChosen = chosen.port === lane.port;
    if (total === 0 && !isChosen) {
      return;
    }
    const unit = (lane.isOfHost ? SHORT : STACK) / Math.max(total, USUAL);
    let reached = 4;
    let index = 0;
    while (index < waiting.length) {
      // Neighbours of one flow are one stroke.
      const { flow } = waiting[index]!;
      let units = 0;
      for (; index < waiting.length && waiting[index]!.flow === flow; index += 1) {
        units += waiting[index]!.units;
      }
      const gap = unit > 3 ? 0.5 : 0;
      this.#stroke(
        away(at, lane.out, reached),
        away(at, lane.out, reached + units * unit - gap),
        this.#colour(flow),
        flow === chosen.flow ? 13 : 10,
      );
      reached += units * unit;
    }
    if (more > 0) {
      this.#stroke(away(at, lane.out, reached), away(at, lane.out, reached + more * unit), this.#colours.soft, 10);
      reached += more * unit;
    }
    if (lane.isOfHost && !isChosen) {
      return;
    }
    const end = away(at, lane.out, reached + 9);
    this.#text(String(total), end, isChosen ? this.#colours.ink : this.#colours.soft, isChosen);
  }

  #node({ x, y, name, kind, isBelow }: Place) {
    const to = this.#to;
    to.fillStyle = this.#colours.panel;
    to.strokeStyle = this.#colours.ink;
    to.lineWidth = 1.5;
    to.beginPath();
    if (kind === "router") {
      to.arc(x, y, RADIUS, 0, 2 * Math.PI);
    } else if (kind === "switch") {
      to.rect(x - RADIUS + 1, y - RADIUS + 1, 2 * RADIUS - 2, 2 * RADIUS - 2);
    } else if (kind === "gateway") {
      to.moveTo(x, y - RADIUS - 2);
      to.lineTo(x + RADIUS + 2, y);
      to.lineTo(x, y + RADIUS + 2);
      to.lineTo(x - RADIUS - 2, y);
      to.closePath();
    } else {
      to.roundRect(x - RADIUS + 1, y - 8, 2 * RADIUS - 2, 16, 4);
    }
    to.fill();
    to.stroke();
    this.#text(name, { x, y: y + (isBelow ? 1 : -1) * (RADIUS + 9) }, this.#colours.ink, false, 110);
  }

  #text(text: string, { x, y }: Point, colour: string, isBold = false, most?: number) {
    const to = this.#to;
    to.font = `${isBold ? "600 " : ""}12px system-ui, sans-serif`;
    to.textAlign = "center";
    to.textBaseline = "middle";
    const half = Math.min(most ?? Infinity, to.measureText(text).width) / 2 + 2;
    const inside = Math.max(half, Math.min(this.#layout.width - half, x));
    // A halo, so that a text is legible on lines.
    to.lineWidth = 3;
    to.strokeStyle = this.#colours.panel;
    to.strokeText(text, inside, y, most);
    to.fillStyle = colour;
    to.fillText(text, inside, y, most);
  }

  #colour(flow: number): string {
    return flow < 0 ? this.#colours.soft : this.#colours.flows[this.#numbers[flow] ?? 0]!;
  }

  #stroke(from: Point, to: Point, colour: string, width: number) {
    this.#to.strokeStyle = colour;
    this.#to.lineWidth = width;
    this.#to.lineCap = "butt";
    this.#to.beginPath();
    this.#to.moveTo(from.x, from.y);
    this.#to.lineTo(to.x, to.y);
    this.#to.stroke();
  }
}

export const along = ({ from, to }: Lane, part: number): Point => ({
  x: from.x + (to.x - from.x) * part,
  y: from.y + (to.y - from.y) * part,
});

const away = ({ x, y }: Point, out: Point, distance: number): Point => ({
  x: x + out.x * distance,
  y: y + out.y * distance,
});
