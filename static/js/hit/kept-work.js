/**
 * Connects a draft to the task page, with messages for a conflict, for work that was begun before, and for a
 * submission from another window. draft.js does not use the page; this file does not call the server.
 */
import { canonical, uuid4 } from './canonical.js';
import { Draft } from './draft.js';
import { describeContent, draftKey, earlierVersions, workKey } from './versions.js';
import { words } from './words.js';
import { toast } from '../ui/toast.js';

const sameWork = (a, b) => canonical(a?.answer) === canonical(b?.answer);

export class KeptWork {
  #busy;
  #blank;

  /**
   * @param {{assignmentId: string, kind: object, storage: object, bars: object, save: Function,
   *   collect: () => object, restore: (content: any) => void, busy: () => boolean, submitting: (on: boolean) => void,
   *   address?: string}} page
   *   restore: shows a content; busy: whether the answer is being sent; submitting: called if another window submits
   */
  constructor({ assignmentId, kind, storage, bars, save, collect, restore, busy, submitting, address = location.href }) {
    Object.assign(this, { kind, storage, bars, collect, restore });
    this.#busy = busy;
    this.work = workKey(address);
    const key = draftKey(this.work, assignmentId);
    this.draft = new Draft({ save, collect, same: sameWork, writer: uuid4(), storage, key });
    this.draft.addEventListener('state', () => this.#stateChanged());
    this.draft.addEventListener('follow', (e) => restore(e.detail.content));
    this.draft.addEventListener('submitting', (e) => submitting(e.detail.on));
    this.#watchPage();
  }

  /** Shows the content to continue from. @param {{draft: any, revision: number}|null} opened the server's reply */
  start(opened) {
    this.#blank = this.collect();
    const content = this.draft.start(opened);
    this.restore(content);
    if (!content || sameWork(content, this.#blank)) this.#offerEarlier();
  }

  #watchPage() {
    const leave = () => this.draft.flush({ keepalive: true });
    window.addEventListener('pagehide', leave);
    window.addEventListener('online', () => this.draft.flush());
    document.addEventListener('visibilitychange', () => document.visibilityState === 'hidden' && leave());
  }

  #stateChanged() {
    const { state } = this.draft;
    // While the answer is being sent, the state of its draft does not matter.
    if (this.#busy()) return;
    if (state === 'expired') {
      this.bars.show('expired', { kind: 'bad', text: words.expiredBar, actions: [{ text: words.reload, run: () => location.reload() }] });
    }
    if (state === 'conflict') this.#askWhich();
    else this.bars.hide('conflict');
  }

  #askWhich() {
    const [mine, theirs] = [this.collect(), this.draft.theirs];
    const differ = this.kind.differences?.(mine.answer, theirs.answer) ?? '';
    this.bars.show('conflict', {
      text: words.conflict,
      more: [words.conflictBoth(describeContent(this.kind, { ...mine, at: Date.now() }), describeContent(this.kind, theirs)), differ].filter(Boolean).join(' '),
      actions: [
        { text: words.useOther, run: () => this.#replaceWith(() => this.draft.useTheirs()) },
        { text: words.keepMine, run: () => this.draft.keepMine() },
      ],
    });
  }

  // Work of the same worker on the same unit, under another assignment, is offered but never merged.
  #offerEarlier() {
    const [latest, ...older] = earlierVersions(this.storage, this.work, this.draft.key)
      .filter(({ key, content }) => !sameWork(content, this.#blank) || this.storage.remove(key));
    if (!latest) return;
    const done = () => {
      this.bars.hide('earlier');
      for (const { key } of [latest, ...older]) this.storage.remove(key);
    };
    this.bars.show('earlier', {
      kind: 'info',
      text: words.begunBefore,
      more: words.begunBeforeMore(describeContent(this.kind, latest.content)),
      actions: [
        { text: words.goOn, primary: true, run: () => { done(); this.#replaceWith(() => latest.content, true); } },
        { text: words.startAnew, run: done },
      ],
    });
  }

  // The replaced content can be restored with Undo, so that a wrong press loses no work.
  #replaceWith(choose, changed = false) {
    const before = this.collect();
    this.restore(choose());
    if (changed) this.draft.touch();
    if (sameWork(before, this.#blank)) return;
    toast(words.replaced, () => {
      this.restore(before);
      this.draft.touch();
    });
  }
}
