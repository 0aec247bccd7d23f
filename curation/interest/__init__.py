"""Which images are interesting enough to be asked about (Zellers et al. 2019 §B.2)."""
