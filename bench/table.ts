/** Plain text tables, and numbers as they stand in them. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function printed({ title, columns, rows }: Table): string {
  const widths = columns.map((name, n) =>
    Math.max(name.length, ...rows.map((row) => (row[n] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0)))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return [title, '', line(columns), rule, ...rows.map(line), ''].join('\n');
}

/** One decimal below 100, none above: more digits than the noise allows would only look exact. */
export const figure = (value: number | undefined): string => {
  if (value === undefined || !Number.isFinite(value)) return '-';
  return value < 100 ? value.toFixed(1) : value.toFixed(0);
};

export const ratio = (value: number): string => (Number.isFinite(value) ? value.toFixed(2) : '-');
export const ms = (value: number): string => `${figure(value)} ms`;
export const kB = (bytes: number): string => `${figure(bytes / 1_000)} kB`;
