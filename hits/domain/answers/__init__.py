"""What workers answer: text, labels, evidence for reviewers, and the records that answers give."""
