"""Pages of the MTurk editor: HTML with ``${variables}``, the CSV with their values, and checks of both."""
