"""NL-Eye in the demo: scenes, reviews, drawings, triplets, judgments, a model, audits and a version."""
