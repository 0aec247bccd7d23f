/**
 * Grades on their way to the server: kept on this device until they are there, several to a request, in their order.
 *
 * @typedef {{key: string, grade: 'yes'|'no'|'back', note: string}} Grade
 */
export const FULL = 5; // as many go at once; fewer go when the grader pauses
export const PAUSE = 2500;

export class GradeQueue {
  #storage;
  #name;
  /** @type {Grade[]} */
  #waiting;

  /** @param {Storage|null} storage @param {string} name of what is kept, for one round and grader */
  constructor(storage, name) {
    this.#storage = storage;
    this.#name = `deerstalker:grades:${name}`;
    this.#waiting = this.#read();
  }

  get length() {
    return this.#waiting.length;
  }

  /** @returns {Grade[]} what goes with the next request, in order */
  get next() {
    return this.#waiting.slice(0, 50);
  }

  /** @param {string} key @returns {boolean} whether a grade of this pair has not reached the server yet */
  holds(key) {
    return this.#waiting.some((grade) => grade.key === key);
  }

  /** @param {Grade} grade the latest word on its pair: an earlier one that is still here never leaves */
  add(grade) {
    this.#waiting = [...this.#waiting.filter((other) => other.key !== grade.key), grade];
    this.#write();
  }

  /** @param {string} key a pair whose grade shall not leave */
  drop(key) {
    this.#waiting = this.#waiting.filter((grade) => grade.key !== key);
    this.#write();
  }

  /** @param {Grade[]} sent what has arrived; a pair that was graded anew meanwhile stays */
  arrived(sent) {
    this.#waiting = this.#waiting.filter((grade) => !sent.includes(grade));
    this.#write();
  }

  #read() {
    try {
      const found = JSON.parse(this.#storage?.getItem(this.#name) ?? '[]');
      return Array.isArray(found) ? found : [];
    } catch {
      return [];
    }
  }

  #write() {
    try {
      if (this.#waiting.length) this.#storage?.setItem(this.#name, JSON.stringify(this.#waiting));
      else this.#storage?.removeItem(this.#name);
    } catch { /* storage is full or forbidden: the queue holds for this page */ }
  }
}
