import test from 'node:test';
import assert from 'node:assert/strict';
import { centsPerHour, hourlyText } from '../../static/js/ui/hourly.js';

test('centsPerHour of a typed reward is its cents in an hour of such tasks', () => {
  assert.equal(centsPerHour('1.10', 300), 1320);
  assert.equal(centsPerHour(' $1.25 ', 300), 1500);
  assert.equal(centsPerHour('2', 480), 1500);
});

test('centsPerHour of what is no whole number of cents, or without a time, is null', () => {
  for (const typed of ['', '1.105', '1,10', '-1', 'a dollar', '1e3']) assert.equal(centsPerHour(typed, 300), null, typed);
  assert.equal(centsPerHour('1.10', 0), null);
  assert.equal(centsPerHour('1.10', NaN), null);
});

test('hourlyText names what is missing to the target, and nothing at the target', () => {
  assert.equal(hourlyText(1320, 1500), '$13.20/h, $1.80 under the target');
  assert.equal(hourlyText(1500, 1500), '$15.00/h');
});
