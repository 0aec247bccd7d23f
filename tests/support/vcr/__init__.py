"""Made-up triplets for the tests of multiple-choice questions."""
