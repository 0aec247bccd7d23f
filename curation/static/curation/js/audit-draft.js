/**
 * What a reader chose and has not saved, kept on the device. A draft belongs to the reading that stood when it was
 * begun (`base`): once a newer one stands on the server, the draft has been saved and is forgotten.
 */
const PREFIX = 'deerstalker-reading-';

export class Draft {
  #storage;
  #name;
  #base;

  /**
   * @param {Storage|null} storage none where the browser forbids it: nothing is kept then
   * @param {string} name of audit, reader and pair
   * @param {string} base the number of the reader's reading that the page shows; empty without one
   */
  constructor(storage, name, base) {
    this.#storage = storage;
    this.#name = PREFIX + name;
    this.#base = base;
  }

  /** @returns {boolean} whether it is kept */
  keep(work) {
    try {
      this.#storage.setItem(this.#name, JSON.stringify({ base: this.#base, work }));
      return true;
    } catch {
      return false; // no storage, or no room in it
    }
  }

  /** @returns {{chosen: Object<string, string[]>, note: string}|null} the work that was not saved, if there is any */
  read() {
    try {
      const kept = JSON.parse(this.#storage.getItem(this.#name));
      if (kept?.base === this.#base) return kept.work;
    } catch { /* no storage, or nothing that can be read */ }
    this.forget();
    return null;
  }

  /** Removes it from the device. */
  forget() {
    try {
      this.#storage.removeItem(this.#name);
    } catch { /* no storage */ }
  }
}
