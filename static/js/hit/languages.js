/** Longer than a save takes, shorter than somebody waits for a link. */
const PATIENCE_MS = 3000;

/**
 * Lets the links to the page's other languages save first, so that the page comes back as it was.
 * @param {Iterable<HTMLAnchorElement>} links @param {() => Promise<void>} save
 * @param {(address: string) => void} [go]
 */
export function saveBeforeLeaving(links, save, go = (address) => location.assign(address)) {
  for (const link of links) {
    link.addEventListener('click', async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // to a tab of its own
      event.preventDefault();
      // What could not be sent is kept on this device.
      await Promise.race([save().catch(() => {}), new Promise((done) => { setTimeout(done, PATIENCE_MS); })]);
      go(link.href);
    });
  }
}
