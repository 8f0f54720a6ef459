// For programs in Node.

export { CellwayEngine } from "./engine.ts";
export { readTables } from "./tables.ts";
