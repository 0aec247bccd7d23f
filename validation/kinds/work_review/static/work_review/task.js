/** A review of another person's questions about a photo. */
import { boot } from '../js/hit/page.js';
import { ReviewForm } from './form.js';

boot(new ReviewForm());
