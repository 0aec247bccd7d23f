/**
 * Keeps unfinished work: at once on this device, soon after on the server, in order and never two saves at a time.
 *
 * States: 'clean' nothing to save · 'dirty' changed, save due · 'saving' · 'saved' · 'offline' tried and failed,
 * tries again · 'conflict' another window saved since, a person must choose · 'refused' the server will never take
 * this content · 'expired' the page's token is no good any more.
 * Event: `state` {state, savedAt}.
 *
 * Each content carries `writer`, one id per page load: whoever finds its own id on the server knows that an
 * answer was lost on the way, and that nobody else has been at work.
 */
import { canonical } from './canonical.js';

const DELAY_MS = 1200;
const LONGEST_MS = 6000;
const RETRY_MS = [2000, 5000, 15000, 30000];

export class Draft extends EventTarget {
  #state = 'clean';
  #timer = null;
  #since = null;
  #failures = 0;
  #edits = 0;
  #savedEdits = 0;
  #theirs = null;
  #running = null;

  /**
   * @param {{save: (content: any, revision: number, options?: any) => Promise<{revision: number}>,
   *   collect: () => object, same?: (a: any, b: any) => boolean, writer: string,
   *   storage: ReturnType<import('./storage.js').safeStorage>, key: string,
   *   now?: () => number, setTimer?: typeof setTimeout, clearTimer?: typeof clearTimeout}} options
   *   same: whether two contents are the same work (times and the like left aside)
   */
  constructor({ save, collect, same = (a, b) => canonical(a) === canonical(b), writer, storage, key, now = Date.now,
    setTimer = setTimeout.bind(globalThis), clearTimer = clearTimeout.bind(globalThis) }) {
    super();
    Object.assign(this, { save, same, writer, storage, key, now, setTimer, clearTimer });
    this.collect = () => ({ ...collect(), writer });
    this.revision = 0;
    this.savedAt = null;
    this.keptHere = storage.lasting;
  }

  get state() { return this.#state; }
  /** @returns {any} the other window's content while in conflict */
  get theirs() { return this.#theirs?.content ?? null; }
  get #unsaved() { return this.#edits !== this.#savedEdits; }
  get #blocked() { return this.#state === 'conflict' || this.#state === 'expired'; }

  /**
   * Chooses what to start from: the server's draft, or what this device kept and never managed to send.
   * @param {{draft: any, revision: number}|null} opened the server's answer, null when it could not be asked
   * @returns {any} content to show, null for none
   */
  start(opened) {
    const kept = this.storage.get(this.key);
    this.revision = opened?.revision ?? kept?.revision ?? 0;
    const theirs = opened?.draft ?? null;
    if (!kept?.unsent || (theirs !== null && this.same(kept.content, theirs))) {
      if (theirs !== null) this.#set('saved');
      return opened ? theirs : kept?.content ?? null;
    }
    this.#edits += 1;
    const onlyMe = !opened || theirs === null || kept.revision === opened.revision || kept.content.writer === theirs.writer;
    if (onlyMe) this.#later(0);
    else this.#conflict({ content: theirs, revision: opened.revision });
    return kept.content;
  }

  /** The work has changed. Kept on the device at once, sent after a pause in typing. */
  touch() {
    this.#edits += 1;
    this.#keep(true);
    if (this.#blocked) return;
    this.#since ??= this.now();
    if (this.#state === 'offline') return;
    this.#set(this.#running ? 'saving' : 'dirty');
    this.#later(Math.min(DELAY_MS, Math.max(0, this.#since + LONGEST_MS - this.now())));
  }

  /** Sends now what is not saved. @param {{keepalive?: boolean}} [options] keepalive: while the page is being left */
  async flush(options = {}) {
    this.#cancelTimer();
    // One save at a time, else the second would be told of a conflict with the first.
    while (this.#running) await this.#running;
    if (this.#blocked || !this.#unsaved) return;
    this.#running = this.#send(options).finally(() => { this.#running = null; });
    await this.#running;
  }

  /** Ends a conflict by going on with one's own version. */
  keepMine() {
    if (!this.#theirs) return;
    this.revision = this.#theirs.revision;
    this.#theirs = null;
    this.#set('dirty');
    this.touch();
  }

  /** Ends a conflict with the other version. @returns {any} the content to show */
  useTheirs() {
    const { content, revision } = this.#theirs;
    this.#theirs = null;
    this.#accept(revision, this.#edits, content);
    return content;
  }

  /** Forgets what this device kept; after the work has been handed over. */
  forget() {
    this.#cancelTimer();
    this.storage.remove(this.key);
  }

  async #send(options) {
    const content = this.collect();
    const edits = this.#edits;
    this.#since = null;
    this.#set('saving');
    try {
      const { revision } = await this.save(content, this.revision, options);
      this.#accept(revision, edits, content);
    } catch (error) {
      this.#failed(error, content, edits);
    }
  }

  #accept(revision, edits, content) {
    this.revision = revision;
    this.savedAt = this.now();
    this.#savedEdits = edits;
    this.#failures = 0;
    this.#keep(this.#unsaved, this.#unsaved ? undefined : content);
    this.#set(this.#unsaved ? 'dirty' : 'saved');
    if (this.#unsaved) this.#later(DELAY_MS);
  }

  #failed(error, content, edits) {
    if (error.code === 'conflict' && error.body?.content !== undefined) this.#compare(error.body, content, edits);
    else if (error.code === 'expired' || error.code === 'refused') this.#set('expired');
    else if (error.code === 'too-large' || error.code === 'invalid') this.#set('refused');
    else {
      const wait = error.retryAfter ? error.retryAfter * 1000 : RETRY_MS[Math.min(this.#failures, RETRY_MS.length - 1)];
      this.#failures += 1;
      this.#set('offline');
      this.#later(wait);
    }
  }

  #compare({ content: theirs, revision }, mine, edits) {
    if (theirs !== null && this.same(theirs, mine)) this.#accept(revision, edits, mine);
    else if (theirs === null || theirs.writer === this.writer) {
      // One's own earlier save, whose answer was lost: go on from there.
      this.revision = revision;
      this.#set('dirty');
      this.#later(0);
    } else this.#conflict({ content: theirs, revision });
  }

  #conflict(theirs) {
    this.#theirs = theirs;
    this.#set('conflict');
  }

  #keep(unsent, content = this.collect()) {
    this.keptHere = this.storage.set(this.key, { content, revision: this.revision, unsent });
  }

  #later(ms) {
    this.#cancelTimer();
    this.#timer = this.setTimer(() => { this.#timer = null; this.flush(); }, ms);
  }

  #cancelTimer() {
    if (this.#timer !== null) this.clearTimer(this.#timer);
    this.#timer = null;
  }

  #set(state) {
    this.#state = state;
    this.dispatchEvent(new CustomEvent('state', { detail: { state, savedAt: this.savedAt } }));
  }
}
