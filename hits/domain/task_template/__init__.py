"""Pages of the MTurk editor: HTML with ``${variables}``, the CSV that fills them in, and what to mend in either."""
