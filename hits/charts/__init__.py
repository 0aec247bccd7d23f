"""Charts as plain data: figures in, positions of SVG marks out; ``hits/charts/chart.html`` draws them all.

Across, every position is a percentage of the chart's width, so that a chart is as wide as its column while its
letters keep their size. Downwards it is pixels. Each chart has a summary for those who cannot see it, and a table.
"""
