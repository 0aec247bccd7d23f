/**
 * A reader's unsaved answers, stored in the browser. A draft belongs to the label that was newest when the draft was
 * started (`base`). If the server has a newer label, the draft was saved and is deleted.
 */
const PREFIX = 'deerstalker-reading-';

export class Draft {
  #storage;
  #name;
  #base;

  /**
   * @param {Storage|null} storage null if the browser forbids it; then nothing is stored
   * @param {string} name identifies audit, reader and pair
   * @param {string} base the number of the reader's label that the page shows; empty if there is none
   */
  constructor(storage, name, base) {
    this.#storage = storage;
    this.#name = PREFIX + name;
    this.#base = base;
  }

  /** @returns {boolean} whether the draft is stored */
  store(work) {
    try {
      this.#storage.setItem(this.#name, JSON.stringify({ base: this.#base, work }));
      return true;
    } catch {
      return false; // no storage, or no room in it
    }
  }

  /** @returns {{chosen: Object<string, string[]>, note: string}|null} the unsaved answers, if any */
  read() {
    try {
      const stored = JSON.parse(this.#storage.getItem(this.#name));
      if (stored?.base === this.#base) return stored.work;
    } catch { /* no storage, or an unreadable draft */ }
    this.delete();
    return null;
  }

  /** Deletes the draft. */
  delete() {
    try {
      this.#storage.removeItem(this.#name);
    } catch { /* no storage */ }
  }
}
