/** What is wrong with a call's arguments, in words for the model that made them (pure). */

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** A model that reads so many can mend them; the rest shows at its next call. */
const FAULTS_TOLD = 8;

export function faultsOf(issues: readonly Issue[]): string {
  const faults = issues.map(({ path, message }) => `${path.map(String).join('.') || 'the arguments'}: ${message}`);
  return `The arguments do not fit: ${faults.slice(0, FAULTS_TOLD).join('; ')}.`;
}
