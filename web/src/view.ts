// The network of a run and what moves in it at an instant, as they come from the engine. crates/web/src/exports.rs has
// the form.

export type NodeKind = "host" | "router" | "switch" | "gateway" | "inside";

export interface SceneNode {
  /** The inner node of a gateway, or of a host with limits, has the name of its owner and the kind "inside". */
  name: string;
  kind: NodeKind;
}

/** An output port, with the line and the link behind it. */
export interface ScenePort {
  /** As the subject of tables: "a>b". */
  name: string;
  /** The link of the scenario; null for that of a host that the scenario does not list, or inside a node. */
  link: string | null;
  /** The nodes before the port and behind its link. */
  from: number;
  to: number;
  /** True if the line sends cells, false if it sends packets. */
  cells: boolean;
  /** In bit/s; 0 in an outage. */
  rate: number;
  /** In seconds, without a random part. */
  delay: number;
}

export interface SceneFlow {
  /** That of a conversation slot, "ftp-3", or of two gateways, "g1-g2". */
  name: string;
  /** The traffic group; null between gateways. */
  group: string | null;
  kind: "tcp" | "udp" | "stack" | "gateways";
  /** The nodes of originator and responder, or the two gateways. */
  ends: [number, number];
  /** The flow between the gateways that split its connections. */
  through: number | null;
}

export interface Scene {
  nodes: SceneNode[];
  /** Ports 2 k and 2 k + 1 are the two directions of one link. */
  ports: ScenePort[];
  /** The conversation slots, then the pairs of gateways. */
  flows: SceneFlow[];
  /** The number of pairs of gateways. */
  pairs: number;
  /** The names of the states of windows. */
  states: string[];
  /** The simulated time at the end of the run, in seconds. */
  duration: number;
}

export type Contents = "data" | "control" | "rm";

/** A packet, or adjacent cells of one. */
export interface Units {
  /** Its place in `Scene.flows`; -1 if it is not known. */
  flow: number;
  /** "control" is a packet without data, such as a bare acknowledgement; "rm" a cell of resource management. */
  kind: Contents;
  /** The number of cells, or 1. */
  units: number;
  /** Of the cells, 53 each, or of the IP packet. */
  octets: number;
}

export interface OnLine extends Units {
  /** The part that has been sent, from 0 to 1. */
  part: number;
}

export interface InFlight extends Units {
  /** The places of the last bits of its first and its last cell, from 0 at the line to 1 at the far end. */
  head: number;
  tail: number;
}

export interface PortView {
  /** In the order of service, as far as the queue has one. */
  waiting: Units[];
  /** Units that wait and are not listed. */
  more: number;
  line: OnLine | null;
  /** Those that arrive first before others. */
  flight: InFlight[];
  /** Further entries of `flight`. */
  moreFlight: number;
}

/** The window of the newest TCP connection of a flow, at the host that has sent more. */
export interface Window {
  /** In octets, as the next two. */
  window: number;
  /** Null before the first loss, unless the scenario gives an initial one. */
  threshold: number | null;
  inFlight: number;
  /** In seconds; null before the first measurement. */
  rtt: number | null;
  /** One of `Scene.states`. */
  state: string;
  /** The host: its place in `SceneFlow.ends`. */
  end: number;
}

/** The octets that two gateways hold: at the first, at the second. */
export interface GatewayPair {
  /** From the hosts of the first to those of the second. */
  there: [number, number];
  back: [number, number];
}

export interface View {
  /** In seconds. */
  now: number;
  /** By port of the scene. */
  ports: PortView[];
  /** By flow of the scene, without those between gateways; null without an open TCP connection. */
  flows: (Window | null)[];
  /** By flow of the scene that is between gateways. */
  gateways: GatewayPair[];
}

const CONTENTS: readonly Contents[] = ["data", "control", "rm"];

/** Reads the answer of `CellwayEngine.view`. */
export function readView(scene: Scene, buffer: ArrayBuffer): View {
  const data = new DataView(buffer);
  let at = 0;
  const next = () => {
    const value = data.getFloat64(at, true);
    at += 8;
    return value;
  };
  const list = <T>(count: number, read: () => T) => Array.from({ length: count }, read);
  const known = (value: number) => (Number.isNaN(value) ? null : value);
  const units = (): Units => {
    const [flow, contents, count, octets] = [next(), next(), next(), next()];
    return { flow, kind: CONTENTS[contents]!, units: count, octets };
  };
  const port = (): PortView => {
    const [waits, more, lines, flies, moreFlight] = [next(), next(), next(), next(), next()];
    const waiting = list(waits, units);
    const line = list(lines, () => ({ ...units(), part: next() }))[0] ?? null;
    const flight = list(flies, () => ({ ...units(), head: next(), tail: next() }));
    return { waiting, more, line, flight, moreFlight };
  };
  const window = (): Window | null => {
    if (next() === 0) {
      return null;
    }
    const [size, threshold, inFlight, rtt, state, end] = [next(), next(), next(), next(), next(), next()];
    return { window: size, threshold: known(threshold), inFlight, rtt: known(rtt), state: scene.states[state]!, end };
  };
  const gateways = (): GatewayPair => ({ there: [next(), next()], back: [next(), next()] });
  const [now, ports, flows, pairs] = [next(), next(), next(), next()];
  return { now, ports: list(ports, port), flows: list(flows, window), gateways: list(pairs, gateways) };
}
