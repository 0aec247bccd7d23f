import { clock } from '../ui/format.js';
import { words } from './words.js';

const SPOKEN = [600, 300, 120];
const LATE = 120;

/**
 * Counts the time left down. Warns in words at ten, five and two minutes; looks different only in the last two.
 * @param {HTMLElement} shown @param {(text: string) => void} say @param {() => void} onEnd
 * @returns {(secondsLeft: number|null) => void} sets or corrects the time left
 */
export function countdown(shown, announce, onEnd) {
  let end = null;
  let before = Infinity;
  let timer = null;
  const tick = () => {
    const left = Math.max(0, (end - performance.now()) / 1000);
    shown.textContent = clock(left);
    shown.classList.toggle('late', left <= LATE);
    const mark = SPOKEN.find((s) => before > s && left <= s);
    if (mark && before !== Infinity) announce(words.minutesLeft(mark / 60));
    before = left;
    if (left > 0) return;
    clearInterval(timer);
    timer = null;
    onEnd();
  };
  return (secondsLeft) => {
    if (secondsLeft === null || secondsLeft === undefined) return;
    end = performance.now() + secondsLeft * 1000;
    before = Infinity;
    timer ??= setInterval(tick, 1000);
    tick();
  };
}
