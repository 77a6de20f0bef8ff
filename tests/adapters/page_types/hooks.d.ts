type Change<S> = (next: S | ((old: S) => S)) => void;
export function useState<S>(first: S | (() => S)): [S, Change<S>];
export function useEffect(effect: () => void | (() => void), inputs?: unknown[]): void;
export function useRef<T>(first: T): { current: T };
export function useCallback<F extends Function>(call: F, inputs: unknown[]): F;
