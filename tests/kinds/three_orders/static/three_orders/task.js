/** A plain form: each named control is a field of the answer. */
import { boot } from '../js/hit/page.js';

class FormTask {
  start({ config, changed }) {
    this.config = config;
    this.controls = [...document.querySelectorAll('[data-answer]')];
    this.controls.forEach((control) => control.addEventListener('input', changed));
  }

  read() { return Object.fromEntries(this.controls.map((control) => [control.name, control.value])); }

  write(answer) { this.controls.forEach((control) => { control.value = answer?.[control.name] ?? ''; }); }

  answer() { return this.read(); }

  gaps() { return []; }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const control = this.controls.find((one) => one.name === field);
    return control ? { control, name: field } : null;
  }
}

boot(new FormTask());
