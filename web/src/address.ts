// The address has the scenario, compressed, so that a link is a copy of what a page shows.

import { inflate } from "./simulator.ts";

/** The longest scenario that a link may carry (octets). */
export const LONGEST = 200_000;

export interface Shown {
  text: string;
  point: number;
  replication: number;
}

/** Returns a whole number from 0, whatever is typed. */
export const count = (typed: string | null) =>
  Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(Number(typed) || 0)));

/** Returns the part of an address from `#` on, or null if the text is too long. */
export async function toHash({ text, point, replication }: Shown): Promise<string | null> {
  const plain = new TextEncoder().encode(text);
  if (plain.length > LONGEST) {
    return null;
  }
  const stream = new Blob([plain]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const octets = new Uint8Array(await new Response(stream).arrayBuffer());
  let characters = "";
  octets.forEach((octet) => (characters += String.fromCharCode(octet)));
  const scenario = btoa(characters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `#${new URLSearchParams({ scenario, point: String(point), replication: String(replication) })}`;
}

/** Returns what an address shows, or null if it has no scenario. Fails with the reason if that cannot be read. */
export async function fromHash(hash: string): Promise<Shown | null> {
  const keys = new URLSearchParams(hash.slice(1));
  const scenario = keys.get("scenario");
  if (!scenario) {
    return null;
  }
  const octets = await inflate(scenario.replaceAll("-", "+").replaceAll("_", "/"), "deflate-raw", LONGEST);
  return { text: decoded(octets), point: count(keys.get("point")), replication: count(keys.get("replication")) };
}

function decoded(octets: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(octets);
  } catch {
    throw new Error("it is no text in UTF-8");
  }
}
