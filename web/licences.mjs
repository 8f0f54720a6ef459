// The licences of everything in the pages: Cellway, uPlot, and the crates in the simulator.

import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

const LINE = "-".repeat(80);

/** Returns the texts, each once, below the names of those that have it. */
export async function licences(root, web) {
  const named = new Map();
  const add = (text, name) => named.set(text, [...(named.get(text) ?? []), name]);
  add(await readFile(path.join(root, "LICENSE"), "utf8"), "Cellway");
  add(await readFile(path.join(web, "node_modules/uplot/LICENSE"), "utf8"), "uPlot");
  for (const { name, version, license, folder } of crates(root)) {
    const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
    const label = `${name} ${version} (${license})`;
    for (const file of files) {
      add(await readFile(path.join(folder, file), "utf8").catch(() => ""), label);
    }
    if (files.length === 0) {
      add("", label);
    }
  }
  return [...named].map(([text, names]) => `${names.join("\n")}\n\n${text.trim()}\n`).join(`\n${LINE}\n\n`);
}

/** Returns the crates of others that are compiled into the simulator. */
function crates(root) {
  const words = ["metadata", "--format-version", "1", "--locked", "--filter-platform", "wasm32-unknown-unknown"];
  const metadata = JSON.parse(execFileSync("cargo", words, { cwd: root, maxBuffer: 1 << 28 }));
  const packages = new Map(metadata.packages.map((one) => [one.id, one]));
  const nodes = new Map(metadata.resolve.nodes.map((one) => [one.id, one]));
  const isMacro = (id) => packages.get(id).targets.some(({ kind }) => kind.includes("proc-macro"));
  const seen = new Set(metadata.packages.filter(({ name }) => name === "cellway-web").map(({ id }) => id));
  for (const id of seen) {
    for (const { pkg, dep_kinds } of nodes.get(id).deps) {
      // Neither build scripts and tests nor macros are in the file.
      if (dep_kinds.some(({ kind }) => kind === null) && !isMacro(pkg)) {
        seen.add(pkg);
      }
    }
  }
  const others = [...seen].map((id) => packages.get(id)).filter(({ source }) => source !== null);
  const described = ({ name, version, license, manifest_path }) => {
    return { name, version, license, folder: path.dirname(manifest_path) };
  };
  return others.map(described).sort((a, b) => (a.name < b.name ? -1 : 1));
}
