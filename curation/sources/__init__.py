"""Published collections of images as plain records, and whether their splits share pictures. No framework here."""
