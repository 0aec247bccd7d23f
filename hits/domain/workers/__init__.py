"""Who may work: countries, qualification requirements and pools, notices, demographics."""
