// The places of nodes and lanes on the stage. The nodes on the way are in columns, hosts at one link beside them.

import type { Scene } from "../view.ts";

export interface Point {
  x: number;
  y: number;
}

export interface Place extends Point {
  name: string;
  kind: "host" | "router" | "switch" | "gateway";
  /** The nodes of the scene that are drawn here. */
  nodes: number[];
  /** True for a host below a node: its lanes come from above. */
  isBelow: boolean;
}

/** One direction of a link: from the port before it to the node behind it, a little to the right of the middle. */
export interface Lane {
  port: number;
  from: Point;
  to: Point;
  /** The direction away from the other lane, of length 1. */
  out: Point;
  /** True at the port of a host, which has little room. */
  isOfHost: boolean;
}

export interface Layout {
  width: number;
  height: number;
  places: Place[];
  /** By port of the scene; undefined for ports within a node, and those of hosts that are folded away. */
  lanes: (Lane | undefined)[];
}

/** The radius of a node, the distance of a lane from the middle, and the least distance of two rows (CSS pixels). */
export const RADIUS = 13;
const LANE = 5;
const ROW = 42;
const MARGIN = 60;
/** Hosts below a node: so far below, and so far from each other. */
const HANGING = 115;
const BESIDE = 92;
/** So many hosts of one group at a node are drawn each; more are one symbol. */
const EACH = 4;

interface Spot {
  name: string;
  kind: Place["kind"];
  nodes: number[];
  neighbours: Set<number>;
}

/** Arranges a scene in `width` pixels. */
export function arrange(scene: Scene, width: number): Layout {
  const { spots, spotOf } = fold(scene);
  const core = spots.map((_, spot) => spot).filter((spot) => spots[spot]!.neighbours.size > 1);
  const middle = core.length > 0 ? core : spots.map((_, spot) => spot).slice(0, 1);
  const columns = columnsOf(spots, middle, spotOf(scene.flows[0]?.ends[0] ?? 0));
  const last = Math.max(...middle.map((spot) => columns.get(spot)!));
  // Hosts are to the left of the first column, to the right of the last one, or below.
  const origins = new Set(scene.flows.map((flow) => spotOf(flow.ends[0])));
  const below: number[] = [];
  spots.forEach((spot, index) => {
    if (columns.has(index)) {
      return;
    }
    const [at] = spot.neighbours;
    const column = columns.get(at ?? middle[0]!) ?? 0;
    const isLeft = column === 0 && (last > 0 || origins.has(index));
    if (isLeft) {
      columns.set(index, -1);
    } else if (column === last) {
      columns.set(index, last + 1);
    } else {
      columns.set(index, column);
      below.push(index);
    }
  });
  const rows = new Map<number, number[]>();
  for (const [spot, column] of columns) {
    if (!below.includes(spot)) {
      rows.set(column, [...(rows.get(column) ?? []), spot]);
    }
  }
  const most = Math.max(...[...rows.values()].map((row) => row.length));
  const upper = Math.max(190, most * ROW + 70);
  const height = below.length > 0 ? Math.max(upper, upper / 2 + HANGING + 40) : upper;
  const numbers = [...rows.keys()].sort((a, b) => a - b);
  // A column of hosts is half as far away as the next node.
  const gaps: number[] = numbers.map((column, index) =>
    index === 0 ? 0 : column === 0 || column === last + 1 ? 0.55 : 1,
  );
  const total = gaps.reduce((a, b) => a + b, 0) || 1;
  const margin = Math.min(MARGIN, width / 7);
  let sum = 0;
  const xOf = new Map(
    numbers.map((column, index) => [column, margin + ((sum += gaps[index]!) / total) * (width - 2 * margin)]),
  );
  const places: Place[] = spots.map(({ name, kind, nodes }, spot) => {
    const column = columns.get(spot)!;
    const row = rows.get(column) ?? [];
    const y = upper / 2 + (row.indexOf(spot) - (row.length - 1) / 2) * Math.min(ROW * 1.6, (upper - 60) / row.length);
    return { name, kind, nodes, x: xOf.get(column) ?? margin, y, isBelow: false };
  });
  for (const spot of middle) {
    const hanging = below.filter((one) => spots[one]!.neighbours.has(spot));
    hanging.forEach((one, index) => {
      const side = (index - (hanging.length - 1) / 2) * Math.min(BESIDE, width / (hanging.length + 1));
      places[one] = { ...places[one]!, x: places[spot]!.x + side, y: places[spot]!.y + HANGING, isBelow: true };
    });
  }
  const seen = new Set<string>();
  const lanes = scene.ports.map(({ from, to }, port) => {
    const [a, b] = [spotOf(from), spotOf(to)];
    const key = `${a}>${b}>${scene.ports[port]!.link ?? ""}`;
    const isFolded = spots[a]!.nodes.length > 1 || spots[b]!.nodes.length > 1;
    if (a === b || (isFolded && seen.has(key))) {
      return undefined;
    }
    seen.add(key);
    return { ...lane(port, places[a]!, places[b]!), isOfHost: places[a]!.kind === "host" };
  });
  return { width, height, places, lanes };
}

function lane(port: number, a: Point, b: Point): Omit<Lane, "isOfHost"> {
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const along = { x: (b.x - a.x) / length, y: (b.y - a.y) / length };
  const out = { x: -along.y, y: along.x };
  const at = (point: Point, distance: number) => ({
    x: point.x + along.x * distance + out.x * LANE,
    y: point.y + along.y * distance + out.y * LANE,
  });
  return { port, from: at(a, RADIUS + 2), to: at(b, -RADIUS - 2), out };
}

/** Joins nodes with those inside them, and many hosts of one group at the same node. */
function fold(scene: Scene): { spots: Spot[]; spotOf: (node: number) => number } {
  const owner = scene.nodes.map((node, index) =>
    node.kind === "inside"
      ? scene.nodes.findIndex((other) => other.name === node.name && other.kind !== "inside")
      : index,
  );
  const neighbours = scene.nodes.map(() => new Set<number>());
  for (const { from, to } of scene.ports) {
    const [a, b] = [owner[from]!, owner[to]!];
    if (a !== b) {
      neighbours[a]!.add(b);
      neighbours[b]!.add(a);
    }
  }
  // The hosts of a group at one node and one end.
  const groups = new Map<string, number[]>();
  scene.flows.forEach(({ group, ends }) =>
    ends.forEach((node, end) => {
      const at = owner[node]!;
      if (group !== null && scene.nodes[at]!.kind === "host" && neighbours[at]!.size === 1) {
        const key = `${group}/${end}/${[...neighbours[at]!][0]}`;
        const known = groups.get(key) ?? [];
        groups.set(key, known.includes(at) ? known : [...known, at]);
      }
    }),
  );
  const foldedInto = new Map<number, number>();
  const names = new Map<number, string>();
  for (const [key, hosts] of groups) {
    if (hosts.length > EACH) {
      hosts.forEach((host) => foldedInto.set(host, hosts[0]!));
      names.set(hosts[0]!, `${key.split("/")[0]} x${hosts.length}`);
    }
  }
  const spots: Spot[] = [];
  const places = new Map<number, number>();
  scene.nodes.forEach(({ name, kind }, node) => {
    if (owner[node] === node && (foldedInto.get(node) ?? node) === node) {
      places.set(node, spots.length);
      spots.push({
        name: names.get(node) ?? name,
        kind: kind === "inside" ? "host" : kind,
        nodes: [node],
        neighbours: new Set(),
      });
    }
  });
  const spotOf = (node: number) => places.get(foldedInto.get(owner[node]!) ?? owner[node]!)!;
  for (const [host, into] of foldedInto) {
    if (host !== into) {
      spots[places.get(into)!]!.nodes.push(host);
    }
  }
  neighbours.forEach((others, node) => {
    if (owner[node] === node) {
      others.forEach((other) => spots[spotOf(node)]!.neighbours.add(spotOf(other)));
    }
  });
  return { spots, spotOf };
}

/** Returns the columns of the nodes on the way: their distances from the end that is nearest to the first sender. */
function columnsOf(spots: Spot[], core: number[], first: number): Map<number, number> {
  const distances = (start: number) => {
    const found = new Map([[start, 0]]);
    for (const spot of found.keys()) {
      for (const next of spots[spot]!.neighbours) {
        if (core.includes(next) && !found.has(next)) {
          found.set(next, found.get(spot)! + 1);
        }
      }
    }
    return found;
  };
  const near = core.includes(first)
    ? first
    : ([...spots[first]!.neighbours].find((spot) => core.includes(spot)) ?? core[0]!);
  const [far] = [...distances(near)].reduce((a, b) => (b[1] > a[1] ? b : a));
  const fromFar = distances(far);
  const [end, length] = [...fromFar].reduce((a, b) => (b[1] > a[1] ? b : a));
  // The first sender is on the left.
  const isTurned = fromFar.get(near)! > length / 2;
  const columns = distances(isTurned ? end : far);
  core.forEach((spot) => columns.has(spot) || columns.set(spot, 0));
  return columns;
}
