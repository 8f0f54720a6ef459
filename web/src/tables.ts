// The tables of a run, as they come from the engine.

export interface SummaryRow {
  subject: string;
  metric: string;
  unit: string;
  value: number;
}

export interface Series {
  subject: string;
  metric: string;
  unit: string;
  /** In seconds, ascending. */
  t: Float64Array;
  value: Float64Array;
}

export interface Tables {
  name: string;
  source: string;
  point: number;
  seed: number;
  axes: [name: string, value: string | number][];
  /** The simulated time of the whole run (s). */
  duration_s: number;
  counts: { events: number; cell_hops: number; packet_hops: number; packets: number; simulated_s: number };
  summary: SummaryRow[];
  series: Series[];
}

interface Contents extends Omit<Tables, "summary" | "series"> {
  summary: [subject: string, metric: string, unit: string][];
  series: [subject: string, metric: string, unit: string, rows: number][];
}

/** Reads the answer of `CellwayEngine.tables` or `soFar`. Its columns share the memory of `buffer`. */
export function readTables(buffer: ArrayBuffer): Tables {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const contents = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length))) as Contents;
  let at = 8 + length;
  const numbers = (count: number) => {
    const column = new Float64Array(buffer, at, count);
    at += column.byteLength;
    return column;
  };
  const values = numbers(contents.summary.length);
  const summary = contents.summary.map(([subject, metric, unit], row) => ({
    subject,
    metric,
    unit,
    value: values[row]!,
  }));
  const series = contents.series.map(([subject, metric, unit, rows]) => {
    const t = numbers(rows);
    return { subject, metric, unit, t, value: numbers(rows) };
  });
  return { ...contents, summary, series };
}
