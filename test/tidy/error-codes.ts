/** The union of error codes, the table of problems and the protocol's description name the same codes. */

export function codeBreaches(
  codes: readonly string[],
  kinds: Readonly<Record<string, unknown>>,
  protocol: string,
): string[] {
  const described = new Set([...protocol.matchAll(/`([a-z]+(?:_[a-z]+)*)`/g)].map((match) => match[1]));
  return [
    ...codes.filter((code) => !(code in kinds)).map((code) => `${code} has no status in http/problem`),
    ...Object.keys(kinds)
      .filter((code) => !codes.includes(code))
      .map((code) => `${code} in http/problem is no error code`),
    ...codes.filter((code) => !described.has(code)).map((code) => `${code} is not described in docs/PROTOCOL.md`),
  ];
}
