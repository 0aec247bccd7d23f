import { clock } from '../ui/format.js';
import { words } from './words.js';

const ANNOUNCED_SECONDS = [600, 300, 120];
const LATE_SECONDS = 120;

/**
 * Counts down the time left, announces ten, five and two minutes, and highlights the last two.
 * @param {HTMLElement} shown @param {(text: string) => void} announce @param {() => void} onEnd
 * @returns {(secondsLeft: number|null) => void} sets or corrects the time left
 */
export function countdown(shown, announce, onEnd) {
  let end = null;
  let before = Infinity;
  let timer = null;
  const tick = () => {
    const left = Math.max(0, (end - performance.now()) / 1000);
    shown.textContent = clock(left);
    shown.classList.toggle('late', left <= LATE_SECONDS);
    const reached = ANNOUNCED_SECONDS.find((s) => before > s && left <= s);
    if (reached && before !== Infinity) announce(words.minutesLeft(reached / 60));
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
