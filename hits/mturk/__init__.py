"""The platform as a requester of a marketplace. Only ``boto`` makes calls."""
