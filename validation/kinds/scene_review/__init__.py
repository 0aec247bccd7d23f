"""Review a scene that another person wrote."""
