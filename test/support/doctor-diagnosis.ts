/** A diagnosis inside the test's own process, with times that a test can wait for, and what it found. */
import { systemClock } from '../../src/base/clock.ts';
import { doctorLimits } from '../../src/base/doctor-limits.ts';
import type { DoctorLimits } from '../../src/base/doctor-limits.ts';
import type { Deployment } from '../../src/cli/doctor/deployment.ts';
import { examine } from '../../src/cli/doctor/examine.ts';
import type { Finding, FindingName } from '../../src/cli/doctor/finding.ts';

export interface Patient extends Partial<Deployment> {
  readonly url: string;
}

export interface DiagnosisOptions {
  readonly times?: Partial<DoctorLimits>;
  readonly session?: string;
  readonly origin?: string;
  /** Watches a quiet stream, too. */
  readonly isLong?: boolean;
  readonly stop?: AbortSignal;
  /** As each is told. */
  readonly onFinding?: (name: FindingName) => void;
}

export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly names: readonly FindingName[];
  readonly faults: readonly FindingName[];
  /** Throws where it was not found. */
  finding(name: FindingName): Finding;
}

/** Patient, so that a busy machine is no broken deployment. */
const times: DoctorLimits = { ...doctorLimits, answerMs: 30_000, heldBackMs: 20_000, lateMs: 10_000, watchMs: 2_000 };

export async function diagnose(patient: Patient, options: DiagnosisOptions = {}): Promise<Diagnosis> {
  const findings: Finding[] = [];
  const nothing = { token: undefined, secret: undefined, issuer: undefined, audience: undefined };
  await examine({
    deployment: { ...nothing, internalUrl: undefined, key: undefined, ...patient },
    wire: {
      clock: systemClock,
      stop: options.stop ?? new AbortController().signal,
      times: { ...times, ...options.times },
    },
    session: options.session,
    origin: options.origin,
    isQuick: options.isLong !== true,
    tell(finding) {
      findings.push(finding);
      options.onFinding?.(finding.name);
      return Promise.resolve();
    },
    watching: () => undefined,
  });
  return {
    findings,
    names: findings.map(({ name }) => name),
    faults: findings.filter(({ severity }) => severity === 'fault').map(({ name }) => name),
    finding(name) {
      const found = findings.find((each) => each.name === name);
      if (found === undefined) throw new Error(`${name} was not found, but ${JSON.stringify(findings, null, 1)}`);
      return found;
    },
  };
}
