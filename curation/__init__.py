"""From accepted answers to datasets, comparison sets, features and official measures."""
