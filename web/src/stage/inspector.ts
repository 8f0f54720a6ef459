// The contents of a queue, the state of a flow and the store of a gateway, in words.

import { make } from "../dom.ts";
import { number3, scaled } from "../figure.ts";
import type { Scene, Units, View } from "../view.ts";

export type Chosen = { port: number } | { flow: number };

/** The entries of a queue that are listed. */
const LISTED = 20;
/** The samples of the trace of a window. */
const SAMPLES = 300;

const octets = (value: number) => {
  const { factor, unit } = scaled("B", value);
  return `${number3(value / factor)} ${unit}`;
};

/** Returns what can be chosen: queues of links that the scenario names, those of hosts, then flows. */
export function choices(scene: Scene): { name: string; chosen: Chosen }[] {
  const ports = scene.ports
    .map((port, index) => ({ port, index }))
    .filter(({ port }) => port.name.split(">")[0] !== port.name.split(">")[1]);
  const named = (isNamed: boolean) =>
    ports
      .filter(({ port }) => (port.link !== null) === isNamed)
      .map(({ port, index }) => ({ name: `Queue ${port.name}`, chosen: { port: index } }));
  const flows = scene.flows.map((flow, index) => ({
    name: flow.kind === "gateways" ? `Gateways ${flow.name}` : `Flow ${flow.name}`,
    chosen: { flow: index },
  }));
  return [...named(true), ...flows, ...named(false)];
}

export class Inspector {
  readonly #words = make("div", "", "inspected");
  readonly #trace = make("canvas");
  readonly #scene: Scene;
  #chosen: Chosen | undefined;
  #samples: { now: number; window: number }[] = [];

  constructor(host: HTMLElement, scene: Scene) {
    this.#scene = scene;
    this.#trace.className = "trace";
    this.#trace.setAttribute("role", "img");
    host.append(this.#words, this.#trace);
    this.#trace.hidden = true;
  }

  choose(chosen: Chosen | undefined): void {
    this.#chosen = chosen;
    this.#samples = [];
    this.#words.replaceChildren();
    this.#trace.hidden = true;
  }

  show(view: View): void {
    if (!this.#chosen) {
      return;
    }
    if ("port" in this.#chosen) {
      this.#queue(view, this.#chosen.port);
    } else {
      this.#flow(view, this.#chosen.flow);
    }
  }

  #queue(view: View, port: number) {
    const { name, cells, rate, delay } = this.#scene.ports[port]!;
    const { waiting, more, line, flight, moreFlight } = view.ports[port]!;
    const total = waiting.reduce((sum, one) => sum + one.units, more);
    const size = waiting.reduce((sum, one) => sum + one.octets, 0);
    const unit = cells ? "cell" : "packet";
    const head = make(
      "p",
      `${name}: ${total} ${unit}${total === 1 ? "" : "s"} wait${total === 1 ? "s" : ""} (${octets(size)}${more > 0 ? " and more" : ""})`,
    );
    const list = make("ol");
    for (const one of joined(waiting).slice(0, LISTED)) {
      list.append(make("li", `${this.#name(one.flow)}: ${one.units} ${kind(one, cells)}, ${octets(one.octets)}`));
    }
    const flying = flight.reduce((sum, one) => sum + one.units, moreFlight);
    const speed = scaled("bit/s", rate);
    const link = make(
      "p",
      `Behind it ${number3(rate / speed.factor)} ${speed.unit} and ${number3(1000 * delay)} ms, ` +
        `with ${flying} ${unit}${flying === 1 ? "" : "s"} on the way.`,
    );
    const sending = make(
      "p",
      line ? `On the line: ${this.#name(line.flow)}, ${Math.round(100 * line.part)} % sent.` : "The line is idle.",
    );
    this.#words.replaceChildren(head, sending, link, list);
  }

  #flow(view: View, flow: number) {
    const spec = this.#scene.flows[flow]!;
    if (spec.kind === "gateways") {
      const { there, back } = view.gateways[flow - (this.#scene.flows.length - this.#scene.pairs)]!;
      this.#words.replaceChildren(
        make("p", `${spec.name}: the first gateway holds ${octets(there[0])}, the second one ${octets(there[1])}.`),
        make("p", `In the other direction the second one holds ${octets(back[1])}, the first one ${octets(back[0])}.`),
      );
      return;
    }
    const state = view.flows[flow];
    if (!state) {
      const why = spec.kind === "tcp" ? "no open connection" : "datagrams have no window";
      this.#words.replaceChildren(make("p", `${spec.name}: ${why}.`));
      return;
    }
    const { window, threshold, inFlight, rtt } = state;
    const split = spec.through === null ? [] : [`split at the gateways ${this.#name(spec.through)}`];
    const parts = [
      `congestion window ${octets(window)}`,
      `in flight ${octets(inFlight)}`,
      threshold === null ? "no threshold yet" : `slow start threshold ${octets(threshold)}`,
      rtt === null
        ? "no round trip measured yet"
        : `smoothed round trip by the sender's clock ${number3(1000 * rtt)} ms`,
      state.state.replaceAll("_", " "),
      ...split,
    ];
    this.#words.replaceChildren(make("p", `${spec.name}: ${parts.join(", ")}.`));
    this.#sample(view.now, window);
  }

  #sample(now: number, window: number) {
    const last = this.#samples.at(-1);
    if (last && now < last.now) {
      this.#samples = [];
    }
    if (!last || now !== last.now) {
      this.#samples.push({ now, window });
    }
    if (this.#samples.length > SAMPLES) {
      this.#samples.shift();
    }
    this.#trace.hidden = false;
    const [width, height] = [this.#trace.clientWidth, this.#trace.clientHeight];
    [this.#trace.width, this.#trace.height] = [width, height];
    const to = this.#trace.getContext("2d")!;
    const most = Math.max(...this.#samples.map((one) => one.window));
    this.#trace.setAttribute("aria-label", `The window, now ${octets(window)}, at most ${octets(most)}`);
    to.strokeStyle = getComputedStyle(this.#trace).color;
    to.lineWidth = 1.5;
    to.beginPath();
    this.#samples.forEach((one, index) =>
      to.lineTo((index / SAMPLES) * width, height - 2 - (one.window / most) * (height - 4)),
    );
    to.stroke();
  }

  #name(flow: number): string {
    return this.#scene.flows[flow]?.name ?? "unknown";
  }
}

const kind = ({ kind, units }: Units, cells: boolean) => {
  const plural = units === 1 ? "" : "s";
  return kind === "rm"
    ? `RM cell${plural}`
    : cells
      ? `cell${plural}`
      : `packet${plural}${kind === "control" ? " without data" : ""}`;
};

/** Joins neighbours of one flow. */
function joined(waiting: Units[]): Units[] {
  const all: Units[] = [];
  for (const one of waiting) {
    const last = all.at(-1);
    if (last && last.flow === one.flow && last.kind === one.kind) {
      all[all.length - 1] = { ...last, units: last.units + one.units, octets: last.octets + one.octets };
    } else {
      all.push(one);
    }
    if (all.length > LISTED) {
      break;
    }
  }
  return all;
}
