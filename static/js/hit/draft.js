/**
 * Stores unfinished work: immediately on this device, and soon after on the server, one save at a time.
 *
 * States: 'clean' nothing to save · 'dirty' changed, save due · 'saving' · 'saved' · 'offline' a save failed and is
 * retried · 'conflict' another window saved another version, and the person must choose · 'refused' the server does
 * not accept this content · 'expired' the page's token is no longer valid.
 * Events: `state` {state, savedAt}; `follow` {content}: another window changed the content shown here, and nothing
 * was typed here since; `submitting` {on}: another window is submitting the work (false: its submission failed).
 *
 * Each content has `writer`, an id of the page load, and `seen`, a version vector: how many changes of each writer it
 * includes. So a window can tell whether another window's content is older, newer or in conflict; only a conflict
 * needs a question.
 */
import { canonical } from './canonical.js';
import { DAY_MS } from './storage.js';

const DELAY_MS = 1200;
const LONGEST_MS = 6000;
const RETRY_MS = [2000, 5000, 15000, 30000];
/** Another window saves its own work; if it does not, because it was closed, this window saves that work after this time. */
const RESCUE_MS = 8000;
/** Long enough to find out that a submission failed. */
const SUBMITTED_KEEP_MS = DAY_MS;
/** Each page load is a writer; the pages of older ones are no longer open. */
const MOST_WRITERS = 20;

/** @returns {boolean} whether content `a` includes all work in content `b`; without `seen`, whether both have the same writer */
export function covers(a, b) {
  if (!b.seen) return a.writer === b.writer;
  return Object.entries(b.seen).every(([writer, n]) => n === 0 || (a.seen?.[writer] ?? 0) >= n);
}

function merged(a = {}, b = {}) {
  const all = Object.entries(b).concat(Object.entries(a).filter(([writer]) => !(writer in b)));
  return Object.fromEntries(all.map(([writer, n]) => [writer, Math.max(n, a[writer] ?? 0)]).slice(-MOST_WRITERS));
}

export class Draft extends EventTarget {
  #state = 'clean';
  #timer = null;
  #since = null;
  #failures = 0;
  #edits = 0;
  #savedEdits = 0;
  #typed = 0;
  #typedBefore = 0;
  #seen = {};
  #theirs = null;
  #running = null;
  #submittedAt = null;
  #aside = false;
  #forgotten = false;

  /**
   * @param {{save: (content: any, revision: number, options?: any) => Promise<{revision: number}>,
   *   collect: () => object, same?: (a: any, b: any) => boolean, writer: string,
   *   storage: ReturnType<import('./storage.js').safeStorage>, key: string,
   *   now?: () => number, setTimer?: typeof setTimeout, clearTimer?: typeof clearTimeout}} options
   *   same: whether two contents are the same work (times do not matter)
   */
  constructor({ save, collect, same = (a, b) => canonical(a) === canonical(b), writer, storage, key, now = Date.now,
    setTimer = setTimeout.bind(globalThis), clearTimer = clearTimeout.bind(globalThis) }) {
    super();
    Object.assign(this, { save, same, writer, storage, key, now, setTimer, clearTimer });
    this.collect = () => ({ ...collect(), writer, seen: { ...this.#seen, [writer]: this.#typed }, at: now() });
    this.revision = 0;
    this.savedAt = null;
    this.keptHere = storage.lasting;
    storage.watch(key, (kept) => this.#receiveChange(kept));
  }

  get state() { return this.#state; }
  /** @returns {any} the other window's content while in conflict */
  get theirs() { return this.#theirs?.content ?? null; }
  get #unsaved() { return this.#edits !== this.#savedEdits; }
  get #fresh() { return this.#typed !== this.#typedBefore; }
  get #place() { return this.#aside ? `${this.key}/${this.writer}` : this.key; }
  get #blocked() { return this.#state === 'conflict' || this.#state === 'expired'; }

  /**
   * Chooses what to start from: the server's draft, or this device's copy, which may not have been sent.
   * @param {{draft: any, revision: number}|null} opened the server's reply, null if it could not be reached
   * @returns {any} content to show, null for none
   */
  start(opened) {
    const kept = this.storage.get(this.key);
    this.revision = opened?.revision ?? kept?.revision ?? 0;
    const theirs = opened?.draft ?? null;
    if (!kept?.unsent || (theirs !== null && (this.same(kept.content, theirs) || covers(theirs, kept.content)))) {
      if (theirs !== null) this.#set('saved');
      return this.#from(opened ? theirs : kept?.content ?? null);
    }
    this.#edits += 1;
    const onlyMe = !opened || theirs === null || kept.revision === opened.revision || covers(kept.content, theirs);
    if (onlyMe) this.#later(0);
    else this.#conflict({ content: theirs, revision: opened.revision });
    return this.#from(kept.content);
  }

  /**
   * Records a change: stored on the device immediately, sent after a pause in typing.
   * @param {{typed?: boolean}} [options] typed: the person typed it; other changes are saved, but give no conflict with another window's work
   */
  touch({ typed = true } = {}) {
    this.#edits += 1;
    if (typed) this.#typed += 1;
    this.#submittedAt = null;
    this.#keep(true);
    if (this.#blocked) return;
    this.#since ??= this.now();
    if (this.#state === 'offline') return;
    this.#set(this.#running ? 'saving' : 'dirty');
    this.#later(Math.min(DELAY_MS, Math.max(0, this.#since + LONGEST_MS - this.now())));
  }

  /** Saves unsaved work now. @param {{keepalive?: boolean}} [options] keepalive: while the page is being left */
  async flush(options = {}) {
    this.#cancelTimer();
    // One save at a time: a second one would conflict with the first.
    while (this.#running) await this.#running;
    if (this.#blocked || this.#forgotten || !this.#unsaved) return;
    this.#running = this.#send(options).finally(() => { this.#running = null; });
    await this.#running;
  }

  /** Ends a conflict with this window's version, which then counts as the newer one. */
  keepMine() {
    if (!this.#theirs) return;
    this.revision = this.#theirs.revision;
    this.#seen = merged(this.#seen, this.#theirs.content.seen);
    this.#settle();
    this.#set('dirty');
    this.touch();
  }

  /** Ends a conflict with the other window's version. @returns {any} the content to show */
  useTheirs() {
    const { content, revision } = this.#theirs;
    this.#settle();
    this.#from(content);
    this.#accept(revision, this.#edits, content);
    return content;
  }

  /** Records that the work is being submitted. The device's copy stays until the submission is confirmed. */
  submitToMarketplace() {
    this.#submittedAt = this.now();
    this.#keep(this.#unsaved);
  }

  /** Records that the submission failed, or that the browser returned to this page. */
  cancelSubmission() {
    if (this.#submittedAt === null) return;
    this.#submittedAt = null;
    this.#keep(this.#unsaved);
  }

  /** Deletes this device's copy after the submission is confirmed. */
  forget() {
    this.#forgotten = true;
    this.#cancelTimer();
    this.#settle();
    this.storage.remove(this.key);
  }

  #from(content) {
    this.#seen = content?.seen ?? (content?.writer ? { [content.writer]: 1 } : {});
    this.#typedBefore = this.#typed;
    return content;
  }

  // Another window stored its content: older or newer than this window's, or in conflict with it.
  #receiveChange(kept) {
    if (!kept?.content || kept.content.writer === this.writer || this.#forgotten) return;
    this.#emit('submitting', { on: Boolean(kept.submittedAt) });
    if (this.#fresh && !covers(kept.content, this.collect())) {
      // Conflict: this window stores its version under its own key until the conflict is resolved.
      this.#aside = true;
      this.#keep(true);
      if (this.#theirs && !kept.unsent) this.#conflict({ content: kept.content, revision: kept.revision });
      return;
    }
    this.#settle();
    this.#follow(kept.content, Math.max(kept.revision, this.revision));
    if (!kept.unsent) return;
    this.#edits += 1;
    this.#set('dirty');
    this.#later(RESCUE_MS);
  }

  #follow(content, revision) {
    const news = !this.same(content, this.collect());
    this.#from(content);
    this.revision = revision;
    this.savedAt = content.at ?? this.now();
    this.#savedEdits = this.#edits;
    this.#since = null;
    this.#cancelTimer();
    if (news) this.#emit('follow', { content });
    this.#set('saved');
  }

  async #send(options) {
    const content = this.collect();
    const edits = this.#edits;
    this.#since = null;
    this.#set('saving');
    try {
      const { revision } = await this.save(content, this.revision, options);
      if (content.seen[this.writer] === this.#typed) this.#typedBefore = this.#typed;
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
    this.#settle();
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
    else if (theirs === null || covers(mine, theirs)) {
      // This content includes the server's: an earlier save whose reply was lost, or another window's work.
      this.revision = revision;
      this.#set('dirty');
      this.#later(0);
    } else if (!this.#fresh || covers(theirs, this.collect())) this.#follow(theirs, revision);
    else this.#conflict({ content: theirs, revision });
  }

  #conflict(theirs) {
    this.#theirs = theirs;
    this.#set('conflict');
  }

  #settle() {
    if (this.#aside) this.storage.remove(this.#place);
    this.#aside = false;
    this.#theirs = null;
  }

  #keep(unsent, content = this.collect()) {
    if (this.#forgotten) return;
    const kept = { content, revision: this.revision, unsent, submittedAt: this.#submittedAt };
    this.keptHere = this.storage.set(this.#place, kept, this.#submittedAt === null ? undefined : SUBMITTED_KEEP_MS);
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
    this.#emit('state', { state, savedAt: this.savedAt });
  }

  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
