"""The requester's side of a marketplace. Only ``boto`` makes calls."""
