"""Read judgments, grades and worker statuses. No function here opens a transaction."""
