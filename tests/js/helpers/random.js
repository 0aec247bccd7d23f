/** A small seeded generator (mulberry32), so that a failing sequence can be played again. */
export function generator(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    /** an integer from lo to hi, both included */
    int: (lo, hi) => lo + Math.floor(next() * (hi - lo + 1)),
    number: (lo, hi) => lo + next() * (hi - lo),
    pick: (list) => list[Math.floor(next() * list.length)],
    chance: (p) => next() < p,
  };
}

/** Timers and a clock that move only when told. */
export function fakeTime() {
  let now = 0;
  let id = 0;
  const due = new Map();
  return {
    now: () => now,
    setTimer: (run, ms) => { due.set(++id, { at: now + ms, run }); return id; },
    clearTimer: (timer) => due.delete(timer),
    /** lets time pass, running what falls due in order; awaits promises in between */
    async pass(ms) {
      const end = now + ms;
      for (;;) {
        const next = [...due].filter(([, t]) => t.at <= end).sort((a, b) => a[1].at - b[1].at)[0];
        if (!next) break;
        due.delete(next[0]);
        now = Math.max(now, next[1].at);
        next[1].run();
        await settle();
      }
      now = end;
      await settle();
    },
  };
}

/** Lets pending promises finish. */
export const settle = () => new Promise((resolve) => { setImmediate(resolve); });

/** A localStorage. */
export function fakeStorage(start = {}) {
  const kept = new Map(Object.entries(start));
  return {
    kept,
    get length() { return kept.size; },
    key: (i) => [...kept.keys()][i] ?? null,
    getItem: (k) => kept.get(k) ?? null,
    setItem: (k, v) => { kept.set(k, String(v)); },
    removeItem: (k) => { kept.delete(k); },
  };
}
