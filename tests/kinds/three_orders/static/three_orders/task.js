/** A form; see static/js/hit/plain-form.js. */
import { boot } from '../js/hit/page.js';
import { PlainForm } from '../js/hit/plain-form.js';

boot(new PlainForm());
