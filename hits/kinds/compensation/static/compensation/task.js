/** One tick: the work was mine. */
import { boot } from '../js/hit/page.js';
import { gettext } from '../js/ui/i18n.js';

class CompensationTask {
  start({ config, changed }) {
    this.config = config;
    this.tick = document.getElementById('mine');
    this.tick.addEventListener('change', changed);
  }

  read() { return this.tick.checked ? { mine: true } : {}; }

  write(answer) { this.tick.checked = answer?.mine === true; }

  answer() { return this.read(); }

  gaps() {
    if (this.tick.checked) return [];
    return [{ key: 'mine', href: '#mine', text: gettext('say that you did this work'), focus: () => this.tick.focus() }];
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) { return field === 'mine' ? { control: this.tick, name: gettext('Your word') } : null; }
}

boot(new CompensationTask());
