"""Change a batch after its launch: extend, top up, compensate, poll, close."""
