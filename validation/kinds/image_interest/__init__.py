"""Say how interesting up to twenty images are (Zellers et al. 2019 §B.2)."""
