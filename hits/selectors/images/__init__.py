"""Read images, their regions and their files."""
