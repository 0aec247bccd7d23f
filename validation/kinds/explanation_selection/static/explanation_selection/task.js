/** Tick the texts that link the context to the right image, or "none of these". Answers name texts by their ids. */
import { isTyping } from '../js/boxes/keyboard.js';
import { acceptsKeys } from '../js/hit/judging.js';
import { boot } from '../js/hit/page.js';
import { Tiles } from '../js/hit/triplet/tiles.js';
import { gettext } from '../js/ui/i18n.js';
import { singleKeys } from '../js/ui/keys.js';

const byId = (id) => document.getElementById(id);
const words = { gap: gettext('tick the texts that fit, or “None of these”'), texts: gettext('Texts') };

class SelectionTask {
  start({ config, preview, changed }) {
    this.config = config;
    this.tiles = new Tiles();
    this.tiles.shrink(!preview);
    this.boxes = [...document.querySelectorAll('input[name="valid"]')];
    this.none = byId('none');
    // "None" and a tick exclude each other: the later one wins.
    this.none.addEventListener('change', () => {
      if (this.none.checked) for (const box of this.boxes) box.checked = false;
      changed();
    });
    for (const box of this.boxes) {
      box.addEventListener('change', () => {
        if (box.checked) this.none.checked = false;
        changed();
      });
    }
    document.addEventListener('keydown', (e) => this.#key(e, preview));
  }

  read() { return { valid: this.boxes.filter((box) => box.checked).map((box) => box.value), none: this.none.checked }; }

  write(answer) {
    const ticked = new Set(Array.isArray(answer?.valid) ? answer.valid : []);
    for (const box of this.boxes) box.checked = ticked.has(box.value);
    this.none.checked = answer?.none === true && ticked.size === 0;
  }

  answer() { return this.read(); }

  gaps() {
    const { valid, none } = this.read();
    return valid.length || none ? [] : [{ key: 'valid', href: '#texts', text: words.gap, focus: () => this.boxes[0].focus() }];
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) { return /^(valid|none|not_valid)/.test(field) ? { control: this.boxes[0], name: words.texts } : null; }

  #key(event, preview) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat || !singleKeys()) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]') || !acceptsKeys(preview) || !/^[0-9]$/.test(event.key)) return;
    const box = event.key === '0' ? this.none : this.boxes[Number(event.key) - 1];
    if (!box) return;
    event.preventDefault();
    box.focus();
    box.click();
  }
}

boot(new SelectionTask());
