/** The observation task. */
import { boot } from '../js/hit/page.js';
import { ObservationTask } from '../js/observing/task.js';

boot(new ObservationTask());
