/** An old page in a sandboxed frame, whose form is the answer. The frame's side is frame.js. */
import { boot } from '../js/hit/page.js';
import { setText, element } from '../js/ui/dom.js';
import { documentAddress, fieldList, parseHeight } from './fields.js';
import { gettext, interpolate, ngettext } from '../js/ui/i18n.js';

const byId = (id) => document.getElementById(id);
const words = {
  page: gettext('The page to fill in'),
  toSubmit: gettext('press the button on the page itself'),
  filled: (n) => interpolate(ngettext('%(n)s field filled in', '%(n)s fields filled in', n), { n }),
  preview: gettext('This is a preview. You can submit the page after you take the task.'),
  pageSays: (text) => interpolate(gettext('The page says: %(text)s'), { text }),
};

class OldPage {
  #fields = [];
  #complete = false;
  #ready = false;
  #waiting = null;

  start({ config, announce, preview, changed }) {
    Object.assign(this, { config, announce, preview, changed });
    this.frame = byId('old-page');
    window.addEventListener('message', (e) => {
      if (e.source === this.frame.contentWindow && e.data?.from === 'old-page') this.#receive(e.data);
    });
    this.frame.src = documentAddress(location.href);
  }

  read() { return { fields: this.#fields }; }

  write(answer) {
    this.#fields = fieldList(answer?.fields);
    this.#complete = false;
    if (answer === null) return;
    if (this.#ready) this.#restore(this.#fields);
    else this.#waiting = this.#fields;
  }

  answer() { return this.read(); }

  gaps() {
    if (this.#complete) return [];
    return [{ key: 'page', href: '#old-page', text: words.toSubmit, name: words.toSubmit, focus: () => this.frame.focus() }];
  }

  cents() { return this.config.pay.reward_cents; }

  place() { return { control: this.frame, name: words.page }; }

  summary(answer) { return words.filled(fieldList(answer?.fields).filter(([, value]) => value.trim()).length); }

  #receive({ type, fields, height, text }) {
    if (type === 'ready') this.#begin();
    else if (type === 'height') this.#grow(height);
    else if (type === 'active') document.dispatchEvent(new Event('pointermove')); // activity, as if it came from this page
    else if (type === 'say') this.#show(String(text));
    else if (this.preview) this.#show(words.preview, true);
    else if (type === 'fields') this.#take(fields, false);
    else if (type === 'submit') {
      this.#take(fields, true);
      byId('task').requestSubmit();
    }
  }

  #begin() {
    this.#ready = true;
    if (this.#waiting) this.#restore(this.#waiting);
    this.#waiting = null;
  }

  #take(fields, complete) {
    this.#fields = fieldList(fields);
    this.#complete = complete;
    this.changed();
  }

  #restore(fields) {
    // The frame has no origin that could be named; only the answer itself is posted.
    this.frame.contentWindow.postMessage({ from: 'task', type: 'restore', fields }, '*');
  }

  #grow(value) {
    const height = parseHeight(value);
    if (height) this.frame.style.setProperty('--page-height', `${height}px`);
  }

  #show(text, own = false) {
    const message = own ? text : words.pageSays(text.slice(0, 500));
    this.note ??= byId('bars').appendChild(element('div', { class: 'note-bar note-bar--info' }, element('p', {})));
    setText(this.note.querySelector('p'), message);
    this.announce(message);
  }
}

boot(new OldPage());
