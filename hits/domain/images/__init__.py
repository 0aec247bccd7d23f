"""Images as plain facts: boxes, drawn regions, and which images a launch takes."""
