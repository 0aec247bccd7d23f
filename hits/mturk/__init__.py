"""The requester's side of a marketplace. Only ``boto`` speaks to one."""
