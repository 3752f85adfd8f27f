/** A React component that draws nothing, rendered where there is no DOM: for a hook's effects and what it answers. */
import { act, createElement, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

export interface RenderedHook<P, T> {
  /** What the hook answered at each render, the last one last. */
  readonly answers: readonly T[];
  readonly now: T;
  render(properties: P): Promise<void>;
  unmount(): Promise<void>;
}

/** As much of an element, and of a window around it, as React asks for where nothing is drawn. */
function rootElement(): Element {
  const nothing = (): void => undefined;
  const window = {
    event: undefined,
    addEventListener: nothing,
    removeEventListener: nothing,
    HTMLIFrameElement: Map,
  };
  const document = { nodeType: 9, activeElement: null, defaultView: window, addEventListener: nothing };
  Object.assign(globalThis, { window });
  const element = {
    nodeType: 1,
    nodeName: 'DIV',
    tagName: 'DIV',
    namespaceURI: 'http://www.w3.org/1999/xhtml',
    ownerDocument: document,
    addEventListener: nothing,
    firstChild: null,
    lastChild: null,
  };
  return element as unknown as Element;
}

/** Effects included. Outside of this, React runs in its own time. */
async function acting(run: () => void): Promise<void> {
  const react = globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean };
  react.IS_REACT_ACT_ENVIRONMENT = true;
  await act(async () => run());
  react.IS_REACT_ACT_ENVIRONMENT = false;
}

/** In React's strict mode, which mounts everything twice. */
export async function renderHook<P, T>(hook: (properties: P) => T, first: P): Promise<RenderedHook<P, T>> {
  const answers: T[] = [];
  const Probe = ({ properties }: { readonly properties: P }): null => {
    answers.push(hook(properties));
    return null;
  };
  const root = createRoot(rootElement());
  const render = (properties: P): Promise<void> =>
    acting(() => root.render(createElement(StrictMode, null, createElement(Probe, { properties }))));
  await render(first);
  return {
    answers,
    get now() {
      return answers.at(-1) as T;
    },
    render,
    unmount: () => acting(() => root.unmount()),
  };
}
