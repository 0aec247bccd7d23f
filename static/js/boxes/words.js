/** What the box editor says, in one place so that a translation can replace it. */
const place = (b) => `${b.width} by ${b.height} pixels at ${b.left}, ${b.top}`;

export const words = {
  boxName: (label, b) => `Observation ${b.obs}, box ${label}: ${b.left}, ${b.top}, ${b.width} by ${b.height} pixels`,
  added: (label, b) => `Box ${label} added: ${place(b)}.`,
  addedMany: (n) => `${n} boxes added.`,
  moved: (label, b) => `Box ${label} at ${b.left}, ${b.top}.`,
  resized: (label, b) => `Box ${label}: ${b.width} by ${b.height} pixels.`,
  removed: (label) => `Box ${label} deleted.`,
  removedMany: (n) => `${n} boxes deleted.`,
  undone: 'Undone.',
  redone: 'Done again.',
  nothingToUndo: 'Nothing to undo.',
  nothingToRedo: 'Nothing to do again.',
  selected: (label, b) => `Box ${label} selected: ${place(b)}.`,
  deselected: 'No box selected.',
  noCard: 'Open a card first: a box belongs to the card that is open.',
  tooSmall: (min) => `Too small. A box needs at least ${min} pixels each way.`,
  tooMany: (most) => `No more than ${most} boxes for one observation. Delete one first.`,
  zoomed: (percent) => `${percent} percent.`,
};
