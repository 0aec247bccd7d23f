"""Pages of scenes, prompts, generated images, image triplets and their evaluations."""
