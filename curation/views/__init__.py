"""Console pages of curation. They ask services and selectors, and load no model library."""
