/**
 * The common part of a task page. A kind's module implements TaskKind for its answer; this file handles
 * consent, opening, restoring, saving, the clock, gaps, submission and errors.
 *
 * @typedef {object} TaskKind
 * @property {(page: {config: any, announce: (text: string) => void, preview: boolean, changed: () => void}) => void} start
 *   sets up the page; calls `changed` after every change by the person
 * @property {() => object} read the answer so far, complete or not (for the draft)
 * @property {(answer: object|null) => void} write shows an answer from a draft
 * @property {() => import('./gaps.js').Gap[]} gaps what is missing, in the order of the page
 * @property {() => object} answer the answer in the server's format, if nothing is missing
 * @property {() => number} cents the pay for the current answer
 * @property {(field: string) => {control: HTMLElement, name: string, reveal?: () => void}|null} place the control of a field that the server names in an error
 * @property {(card: number) => HTMLElement|null} [hintPlace] the element for a card's live hints; without this function there are none
 * @property {() => void} [finish] ends a drag or the like before the answer is read
 * @property {(opened: object) => void} [opened] gets the server's reply to opening, with data such as feedback
 * @property {() => void} [resume] opens or focuses the place where work continues, after restoring
 * @property {(answer: object) => string} [summary] the progress of an answer: "2 of 3 complete"
 * @property {(mine: object, theirs: object) => string} [differences] a message about where two answers differ
 */
import { ActiveTime, watchActivity } from './active-time.js';
import { createApi } from './api.js';
import { barsIn } from './bars.js';
import { consentGate } from './consent.js';
import { countdown } from './clock.js';
import { showErrors } from './errors.js';
import { showGaps } from './gaps.js';
import { hintsFor } from './hint-view.js';
import { saveBeforeLeaving } from './languages.js';
import { KeptWork } from './kept-work.js';
import { showSaveState } from './save-state.js';
import { safeStorage } from './storage.js';
import { Outbox, submitToMarketplace, marketplaceFields, sendAnswer } from './submit.js';
import { workKey } from './versions.js';
import { words } from './words.js';
import { duration, money } from '../ui/format.js';
import { setText } from '../ui/dom.js';

const byId = (id) => document.getElementById(id);

/** Starts the page. @param {TaskKind} kind */
export async function boot(kind) {
  const config = JSON.parse(byId('hit-config').textContent);
  for (const part of document.querySelectorAll('[data-usual]')) setText(part, duration(config.usual_seconds));
  const page = new TaskPage(config, kind);
  if (config.mode === 'preview') page.preview();
  else await page.work();
  if (page.isReloading) return;
  document.documentElement.dataset.ready = 'true';
  performance.mark('ready');
}

class TaskPage {
  #clearErrors = () => {};
  #sending = false;
  #over = false;

  constructor(config, kind) {
    Object.assign(this, { config, kind });
    this.form = byId('task');
    this.button = byId('submit');
    this.storage = safeStorage();
    this.bars = barsIn(byId('bars'));
    this.announce = (text) => setText(byId('say'), text);
    this.form.addEventListener('submit', (e) => {
      e.preventDefault();
      this.submit();
    });
    // Enter in a one-line field must not submit the task.
    this.form.addEventListener('keydown', (e) => {
      if (e.key !== 'Enter') return;
      if (e.ctrlKey || e.metaKey) this.submit();
      if (e.ctrlKey || e.metaKey || e.target.matches('input')) e.preventDefault();
    });
  }

  /** Shows the page read-only. */
  preview() {
    byId('how').open = true;
    this.kind.start({ config: this.config, announce: this.announce, preview: true, changed: () => {} });
    this.refresh();
  }

  /** Asks for consent, then starts the task. */
  async work() {
    const { config } = this;
    this.api = createApi({ token: config.token, urls: config.api });
    await consentGate(config, this.api, { panel: byId('consent'), task: this.form });
    if (config.consent) this.#focusHeading();
    // An assignment id alone may belong to another worker: a returned assignment keeps its id.
    this.outbox = new Outbox({ storage: this.storage, assignmentId: `${workKey(location.href)}:${config.assignmentId}` });
    this.time = new ActiveTime();
    watchActivity(this.time);
    this.hints = hintsFor(this.kind, { rules: config.hints, ask: (answer) => this.api.hints(answer), changed: () => this.draft.touch({ typed: false }) });
    this.kept = this.#keepWork();
    this.draft = this.kept.draft;
    saveBeforeLeaving(document.querySelectorAll('a[data-language]'), () => this.draft.flush());
    // Without a unit, the arm is chosen when the task opens; the reloaded page then contains the unit.
    if (config.unit === null) {
      if ((await this.#open())?.unit) this.#loadAgain();
      return;
    }
    // Input before the draft is restored would be overwritten by it.
    this.#freeze(true);
    this.kind.start({ config, announce: this.announce, preview: false, changed: () => this.changed() });
    this.#firstVisit();
    if (history.state?.opened) history.replaceState(null, '');
    const opened = await this.#open();
    this.kept.start(opened);
    this.#freeze(false);
    byId('work').disabled = false;
    this.refresh();
    this.kind.resume?.();
    if (opened?.submission?.confirmed) this.#done();
    else if (opened?.submission) this.#offerToFinish(opened.submission);
  }

  /** Handles a change by the person. */
  changed() {
    this.draft.touch();
    this.hints.touch();
    this.bars.hide('finish');
    this.bars.hide('failed');
    this.refresh();
  }

  /** Updates the submit bar from the answer. */
  refresh() {
    const gaps = this.kind.gaps();
    if (this.config.mode !== 'preview') showGaps(byId('gaps'), gaps);
    byId('need').classList.toggle('need--none', gaps.length === 0);
    if (this.#sending || this.#over) return;
    const preview = this.config.mode === 'preview';
    setText(this.button, words.submit(money(this.kind.cents())));
    this.button.setAttribute('aria-disabled', String(preview || gaps.length > 0));
  }

  /** Checks the answer, sends it to our server, and posts it to the marketplace. */
  async submit() {
    if (this.#sending || this.#over || this.config.mode === 'preview') return;
    this.kind.finish?.();
    this.#clearErrors();
    const [gap] = this.kind.gaps();
    if (gap) {
      gap.focus();
      const text = gap.name ?? gap.text;
      this.announce(words.firstGap(gap.obs ? `${gap.obs}, ${text}` : text));
      return;
    }
    this.#lock(true);
    try {
      const sent = await this.#send();
      this.#submitToMarketplace(sent.receipt, sent.active_seconds);
    } catch (error) {
      this.#lock(false);
      this.#failed(error);
    }
  }

  #send() {
    const answer = this.kind.answer();
    // Prepared before the draft is saved, so that the draft contains the uuid too.
    this.outbox.sendingFor(answer, this.time.seconds());
    this.draft.touch();
    this.draft.flush();
    return sendAnswer(this.api, this.outbox, answer, this.time.seconds(), { instructions: this.config.instructions ?? null, hints: this.hints.report() });
  }

  #submitToMarketplace(receipt, activeSeconds) {
    this.#lock(true);
    this.draft.submitToMarketplace();
    submitToMarketplace(byId('marketplace-form'), marketplaceFields(this.config.assignmentId, receipt, activeSeconds));
    // If this page still exists after a while, the marketplace did not answer.
    const stillHere = () => {
      this.draft.cancelSubmission();
      this.#lock(false);
      this.bars.show('finish', { text: words.marketplaceSlow, actions: [this.#finishAction(receipt, activeSeconds)] });
    };
    setTimeout(stillHere, 20_000);
    window.addEventListener('pageshow', (e) => e.persisted && stillHere(), { once: true });
  }

  #finishAction(receipt, activeSeconds) {
    return { text: words.finish, primary: true, run: () => this.#submitToMarketplace(receipt, activeSeconds) };
  }

  #offerToFinish(submission) {
    const answer = this.kind.gaps().length === 0 ? this.kind.answer() : null;
    if (!answer || !this.outbox.knows(answer)) return;
    const sending = this.outbox.sendingFor(answer, this.time.seconds());
    this.bars.show('finish', {
      kind: 'info', text: words.stored, actions: [this.#finishAction(sending.receipt ?? submission, sending.active_seconds)],
    });
  }

  #failed(error) {
    if (error.code === 'invalid' && error.errors.length) {
      this.#clearErrors = showErrors(byId('errors'), error.errors, (field) => this.kind.place(field));
      return;
    }
    const again = { text: words.again, primary: true, run: () => { this.bars.hide('failed'); this.submit(); } };
    const reload = { text: words.reload, run: () => location.reload() };
    const texts = { offline: words.failed, slow: words.failed, busy: words.failedSlow, server: words.failedServer, expired: words.expiredBar };
    const message = ['offline', 'slow', 'server'].includes(error.code) ? '' : error.body?.error ?? '';
    this.bars.show('failed', {
      kind: 'bad', text: texts[error.code] ?? (error.code === 'refused' ? words.notThisTask : words.failedOther), more: message, actions: [error.code === 'expired' ? reload : again],
    });
  }

  #keepWork() {
    const kept = new KeptWork({
      assignmentId: this.config.assignmentId,
      kind: this.kind,
      storage: this.storage,
      bars: this.bars,
      save: (content, revision, options) => this.api.saveDraft(content, revision, options),
      collect: () => ({ answer: this.kind.read(), active_seconds: this.time.seconds(), sending: this.outbox.latest, hints: this.hints.kept() }),
      restore: (content) => {
        this.#restore(content);
        this.refresh();
      },
      busy: () => this.#sending,
      submitting: (on) => this.#showSubmitting(on),
    });
    kept.draft.addEventListener('state', ({ detail }) => {
      if (detail.state !== 'saved' || this.#sending) return;
      this.bars.hide('offline');
      if (!this.opened) this.#open();
    });
    showSaveState(byId('save'), this.announce, kept.draft);
    return kept;
  }

  // Locks this page while another window submits the task, and unlocks it if that submission fails.
  #showSubmitting(on) {
    if (this.#sending || on === this.#over) return;
    this.#close(on);
    if (on) this.bars.show('submitting', { kind: 'info', text: words.submittingInOtherWindow });
    else this.bars.hide('submitting');
  }

  // The marketplace confirmed this answer, so this device's copy is deleted.
  #done() {
    this.draft.forget();
    this.outbox.forget();
    this.#close(true);
    this.bars.show('submitting', { kind: 'info', text: words.confirmed });
  }

  #close(on) {
    this.#over = on;
    this.#freeze(on);
    this.button.setAttribute('aria-disabled', String(on));
    this.refresh();
  }

  /** Reloads the page of the open task, at most once in a row. */
  #loadAgain() {
    if (history.state?.opened) {
      this.bars.show('refused', { kind: 'bad', text: words.notThisTask });
      return;
    }
    history.replaceState({ opened: true }, '');
    this.isReloading = true;
    location.reload();
  }

  async #open() {
    try {
      const opened = await this.api.open();
      this.opened = true;
      if (this.config.unit !== null) this.kind.opened?.(opened);
      this.bars.hide('offline');
      this.clock ??= countdown(byId('time-left'), this.announce, () => this.bars.show('time', { kind: 'bad', text: words.timeUp }));
      this.clock(opened.seconds_left);
      return opened;
    } catch (error) {
      if (error.isTransient) this.bars.show('offline', { text: words.offlineOpen });
      else if (error.code === 'expired') this.#failed(error);
      else this.bars.show('refused', { kind: 'bad', text: words.notThisTask, more: error.body?.error ?? '' });
      return null;
    }
  }

  #restore(content) {
    this.outbox.restore(content?.sending);
    this.time.add(Number(content?.active_seconds ?? 0) - this.time.seconds());
    this.kind.write(content?.answer ?? null);
    this.hints.restore(content?.hints);
    if (content) this.hints.touch();
  }

  // Makes photo and answer inert, and restores focus afterwards.
  #freeze(on) {
    if (on) this.focused = document.activeElement;
    for (const part of [document.querySelector('main.work'), byId('work')]) part.inert = on;
    if (!on && document.activeElement === document.body) this.focused?.focus({ preventScroll: true });
  }

  // The consent panel is hidden together with the focused button: focus moves to the task's heading.
  #focusHeading() {
    const heading = this.form.querySelector('h1');
    heading.tabIndex = -1;
    heading.focus();
  }

  #firstVisit() {
    const key = `read:${this.config.kind}:${this.config.kindVersion}`;
    byId('how').open = this.storage.get(key) === null;
    this.storage.set(key, true);
  }

  #lock(on) {
    this.#sending = on;
    this.#freeze(on);
    if (on) {
      setText(this.button, words.submitting);
      this.button.setAttribute('aria-disabled', 'true');
      this.bars.hide('finish');
    } else this.refresh();
  }
}
