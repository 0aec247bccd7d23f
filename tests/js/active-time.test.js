import test from 'node:test';
import assert from 'node:assert/strict';
import { ActiveTime, IDLE_MS } from '../../static/js/hit/active-time.js';

function clocked(options = {}) {
  let now = 1000;
  const time = new ActiveTime({ now: () => now, ...options });
  return { time, wait: (ms) => { now += ms; } };
}

test('nothing counts before the first sign of life', () => {
  const { time, wait } = clocked();
  wait(5000);
  assert.equal(time.seconds(), 0);
});

test('steady work counts in full', () => {
  const { time, wait } = clocked();
  time.activity();
  for (let i = 0; i < 60; i += 1) {
    wait(2000);
    time.activity();
  }
  assert.equal(time.seconds(), 120);
});

test('a pause counts up to thirty seconds', () => {
  const { time, wait } = clocked();
  time.activity();
  wait(10 * 60_000);
  assert.equal(time.seconds(), IDLE_MS / 1000);
  time.activity();
  wait(5000);
  assert.equal(time.seconds(), 35);
});

test('a pause of exactly the limit counts in full, one longer does not', () => {
  const { time, wait } = clocked();
  time.activity();
  wait(30_000);
  time.activity();
  wait(30_001);
  time.activity();
  assert.equal(time.seconds(), 60);
});

test('a hidden page does not count', () => {
  const { time, wait } = clocked();
  time.activity();
  wait(4000);
  time.pause();
  wait(600_000);
  assert.equal(time.seconds(), 4);
  time.activity();
  wait(1000);
  assert.equal(time.seconds(), 5);
});

test('earlier visits are added, nonsense is not', () => {
  const { time } = clocked({ startSeconds: 10 });
  time.add(2.5);
  time.add(-5);
  time.add(Number.NaN);
  assert.equal(time.seconds(), 12.5);
});

test('a clock that jumps back takes nothing away', () => {
  const { time, wait } = clocked();
  time.activity();
  wait(-5000);
  time.activity();
  wait(2000);
  assert.equal(time.seconds(), 2);
});
