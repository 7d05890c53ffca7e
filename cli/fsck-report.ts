/** The findings as a person reads them. */
import type { Finding } from '../storage/fsck/finding.js';
import type { Walked } from './fsck-walk.js';

export interface FsckReport extends Walked {
  /** Where the store is, without a password. */
  readonly place: string;
  readonly store: string;
  /** Whether Temporal was asked about turns that should be running, or why not. */
  readonly temporal: 'checked' | { readonly notChecked: string };
}

export function reportLines(report: FsckReport): readonly string[] {
  const { findings, repaired, threads, temporal } = report;
  return [
    `${report.place}, store ${report.store}`,
    ...repaired.flatMap((finding) => linesOf(finding, 'repaired')),
    ...findings.flatMap((finding) => linesOf(finding, finding.severity)),
    `${threads} ${threads === 1 ? 'thread' : 'threads'} checked; ${summary(report)}`,
    ...(temporal === 'checked'
      ? []
      : [`Whether Temporal runs the unsettled turns was not checked: ${temporal.notChecked}`]),
  ];
}

export const errorsOf = (findings: readonly Finding[]): number =>
  findings.filter(({ severity }) => severity === 'error').length;

function summary({ findings, repaired }: FsckReport): string {
  const errors = errorsOf(findings);
  const warnings = findings.length - errors;
  const parts = [
    ...(repaired.length > 0 ? [`${repaired.length} repaired`] : []),
    ...(errors > 0 ? [`${errors} ${repaired.length > 0 ? 'left' : 'found'}`] : []),
    ...(warnings > 0 ? [`${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`] : []),
  ];
  return parts.length === 0 ? 'nothing found.' : `${parts.join(', ')}.`;
}

function linesOf(finding: Finding, mark: string): readonly string[] {
  const { code, what, repair, advice } = finding;
  const then =
    mark === 'repaired' || repair === null ? advice : `"everthread fsck --repair" ${repair}.`;
  return [`${mark} ${code}: ${placeOf(finding)}${what}`, ...(then === null ? [] : [`    ${then}`])];
}

function placeOf({ thread, epoch, seq, turnId }: Finding): string {
  if (thread === null) return '';
  const parts = [
    `thread ${thread.tenant}/${thread.threadId}`,
    ...(epoch === null ? [] : [`epoch ${epoch}`]),
    ...(seq === null ? [] : [`turn ${seq}${turnId === null ? '' : ` (${turnId})`}`]),
  ];
  return `${parts.join(', ')}: `;
}
