/**
 * Grades that are not sent yet: stored on this device until the server has them, sent in order, several per request.
 *
 * @typedef {{key: string, grade: 'yes'|'no'|'back', note: string}} Grade
 */
export const BATCH_SIZE = 5; // grades per request; fewer are sent when the grader pauses
export const PAUSE_MS = 2500;

export class GradeQueue {
  #storage;
  #name;
  /** @type {Grade[]} */
  #waiting;

  /** @param {Storage|null} storage @param {string} name storage name for one round and grader */
  constructor(storage, name) {
    this.#storage = storage;
    this.#name = `deerstalker:grades:${name}`;
    this.#waiting = this.#read();
  }

  get length() {
    return this.#waiting.length;
  }

  /** @returns {Grade[]} the grades of the next request, in order */
  get next() {
    return this.#waiting.slice(0, 50);
  }

  /** @param {string} key @returns {boolean} whether a grade of this pair is not sent yet */
  has(key) {
    return this.#waiting.some((grade) => grade.key === key);
  }

  /** @param {Grade} grade replaces an earlier grade of the pair that is not sent yet */
  add(grade) {
    this.#waiting = [...this.#waiting.filter((other) => other.key !== grade.key), grade];
    this.#write();
  }

  /** @param {string} key a pair whose grade is not to be sent */
  remove(key) {
    this.#waiting = this.#waiting.filter((grade) => grade.key !== key);
    this.#write();
  }

  /** @param {Grade[]} sent grades that the server has; a newer grade of the same pair stays */
  removeSent(sent) {
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
    } catch { /* storage is full or blocked: the queue lasts for this page */ }
  }
}
