/** A map that grows and never changes: what is added lies as a layer over what was there, and shares it. */

/** The newest last, each more than twice as large as the next, so that there are few and an entry is rarely copied. */
export type Layers<T> = readonly ReadonlyMap<string, T>[];

export function lookUp<T>(layers: Layers<T>, name: string): T | undefined {
  for (let index = layers.length - 1; index >= 0; index -= 1) {
    const value = layers[index]?.get(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

export function cover<T>(layers: Layers<T>, top: ReadonlyMap<string, T>): Layers<T> {
  if (top.size === 0) return layers;
  const under = layers.at(-1);
  if (under === undefined || under.size > 2 * top.size) return [...layers, top];
  return cover(layers.slice(0, -1), new Map([...under, ...top]));
}
