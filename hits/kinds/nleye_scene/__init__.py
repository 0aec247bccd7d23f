"""Write a scene: a premise and two hypotheses, one of them more plausible."""
