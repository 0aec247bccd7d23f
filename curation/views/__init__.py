"""Console pages of curation. They use services and selectors, and import no model libraries."""
