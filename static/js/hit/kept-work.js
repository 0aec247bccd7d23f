/**
 * What happens to unfinished work, and which message the page shows: saved, kept here, two versions, begun before,
 * submitted from another window. The draft itself (draft.js) knows no page; this knows no server.
 */
import { canonical, uuid4 } from './canonical.js';
import { Draft } from './draft.js';
import { described, draftKey, earlierVersions, workOf } from './versions.js';
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
   *   restore: shows a content as it was; busy: the answer itself is on its way; submitting: another window submits it
   */
  constructor({ assignmentId, kind, storage, bars, save, collect, restore, busy, submitting, address = location.href }) {
    Object.assign(this, { kind, storage, bars, collect, restore });
    this.#busy = busy;
    this.work = workOf(address);
    const key = draftKey(this.work, assignmentId);
    this.draft = new Draft({ save, collect, same: sameWork, writer: uuid4(), storage, key });
    this.draft.addEventListener('state', () => this.#stateChanged());
    this.draft.addEventListener('follow', (e) => restore(e.detail.content));
    this.draft.addEventListener('submitting', (e) => submitting(e.detail.on));
    this.#watchPage();
  }

  /** Shows what there is to go on from. @param {{draft: any, revision: number}|null} opened the server's answer */
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
    // Once the answer itself is on its way, what becomes of its draft is no news.
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
      more: [words.conflictBoth(described(this.kind, { ...mine, at: Date.now() }), described(this.kind, theirs)), differ].filter(Boolean).join(' '),
      actions: [
        { text: words.useOther, run: () => this.#replaceWith(() => this.draft.useTheirs()) },
        { text: words.keepMine, run: () => this.draft.keepMine() },
      ],
    });
  }

  // The same worker began the same unit before, under another assignment: offered, never mixed in.
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
      more: words.begunBeforeMore(described(this.kind, latest.content)),
      actions: [
        { text: words.goOn, primary: true, run: () => { done(); this.#replaceWith(() => latest.content, true); } },
        { text: words.startAnew, run: done },
      ],
    });
  }

  // What gives way can be had back: a wrong press must not cost an hour's work.
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
