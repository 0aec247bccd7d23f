"""Import images, mark duplicates, take images down, check the media folder."""
